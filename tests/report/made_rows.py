"""Rows of an evaluation that never was, for tests of tables."""

from somamba.evaluation.rows import Row


def rows(method, dataset, acceleration, *, psnr=(30.0,), ssim=None, nmse=None, split_cases=None):
    """One row for each PSNR given."""
    count = len(psnr)
    return [
        Row(
            method=method,
            dataset=dataset,
            split="test",
            protocol="magnitude",
            mask="radial",
            mask_digest="abcd",
            acceleration=float(acceleration),
            realised_acceleration=4.1,
            case=f"case{i}",
            slices=10,
            slices_left_out=0,
            psnr=float(psnr[i]),
            ssim=(ssim or [0.8] * count)[i],
            nmse=(nmse or [0.02] * count)[i],
            cases=count,
            split_cases=split_cases or count,
            epochs=1.0,
            seed=0,
            parameters=10,
            weights="",
            command="somamba evaluate",
        )
        for i in range(count)
    ]
