"""Small files that would take much memory or time if somebody believed what they declare."""

import io
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import h5py
import nibabel
import numpy as np

from data.readers.made_dicom import write_image
from raw.made import acquisition, write_mrd

GIB = 1 << 30


def npy_header(shape: tuple[int, ...], dtype: str = "<c8", *, by_columns: bool = False) -> bytes:
    stream = io.BytesIO()
    facts = {"descr": dtype, "fortran_order": by_columns, "shape": shape}
    np.lib.format.write_array_header_1_0(stream, facts)
    return stream.getvalue()


def deflated(start: bytes, size: int) -> bytes:
    """A raw deflate stream of some bytes and many zeros. Packed pieces of zeros are repeated, which takes no time."""
    piece = 1 << 24
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    head = packer.compress(start) + packer.flush(zlib.Z_FULL_FLUSH)
    zeros = packer.compress(bytes(piece)) + packer.flush(zlib.Z_FULL_FLUSH)
    rest = packer.compress(bytes(size % piece)) + packer.flush()
    return head + zeros * (size // piece) + rest


def write_npz(path: Path, name: str, shape: tuple[int, ...], dtype: str = "<c8", **options) -> Path:
    """Add a deflated member of zeros to an archive."""
    header = npy_header(shape, dtype, **options)
    size = np.dtype(dtype).itemsize * int(np.prod(shape))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(f"{name}.npy", deflated(header, size))
        local = archive.getinfo(f"{name}.npy").header_offset
    content = bytearray(path.read_bytes())
    central = content.rindex(b"PK\x01\x02")
    # The method, 8 for deflate, and the size before packing, in both tables of the archive.
    for place, method, unpacked in ((local, 8, 22), (central, 10, 24)):
        content[place + method : place + method + 2] = struct.pack("<H", 8)
        content[place + unpacked : place + unpacked + 4] = struct.pack("<I", len(header) + size)
    path.write_bytes(content)
    return path


def write_nifti(
    path: Path, shape: tuple[int, ...], dtype: type, size: int, offset: int = 352, end: bytes = b""
) -> Path:
    """A compressed NIfTI file of a header and so many zeros."""
    header = nibabel.Nifti1Header()
    header.set_data_shape(shape)
    header.set_data_dtype(dtype)
    header["vox_offset"] = offset
    gzip_header = b"\x1f\x8b\x08" + bytes(7)
    path.write_bytes(gzip_header + deflated(header.binaryblock + (end or bytes(4)), size) + bytes(8))
    return path


def npz_deflated(folder: Path) -> Path:
    return write_npz(folder / "deflated.npz", "kspace", (28, 4, 2048, 1024))


def npz_one_slice(folder: Path) -> Path:
    return write_npz(folder / "slice.npz", "kspace", (32, 2048, 1024))


def npz_by_columns(folder: Path) -> Path:
    return write_npz(folder / "columns.npz", "kspace", (8, 4, 1024, 512), by_columns=True)


def npz_lzma(folder: Path) -> Path:
    np.save(folder / "a.npy", np.zeros((4, 4, 1024, 512), np.complex64))
    with zipfile.ZipFile(folder / "lzma.npz", "w", zipfile.ZIP_LZMA) as archive:
        archive.write(folder / "a.npy", "kspace.npy")
    return folder / "lzma.npz"


def npz_bzip2(folder: Path) -> Path:
    np.save(folder / "a.npy", np.zeros((4, 4, 1024, 512), np.complex64))
    with zipfile.ZipFile(folder / "bzip2.npz", "w", zipfile.ZIP_BZIP2) as archive:
        archive.write(folder / "a.npy", "kspace.npy")
    return folder / "bzip2.npz"


def npz_largest_read(folder: Path) -> Path:
    """Every slice just as large as one reading may be, in so few bytes."""
    return write_npz(folder / "largest.npz", "kspace", (1, 16, 1024, 1024))


def npz_large_mask(folder: Path) -> Path:
    path = folder / "mask.npz"
    np.savez(path, kspace=np.ones((1, 2, 64, 64), np.complex64))
    return write_npz(path, "mask", (2 * GIB,), "|u1")


def npz_many_members(folder: Path) -> Path:
    path = folder / "members.npz"
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(50_000):
            archive.writestr(f"{number}.npy", b"")
    return path


def npy_sparse(folder: Path) -> Path:
    path = folder / "sparse.npy"
    header = npy_header((32, 4096, 4096))
    with path.open("wb") as file:
        file.write(header)
        file.truncate(len(header) + 8 * 32 * 4096 * 4096)
    return path


def npy_sparse_stack(folder: Path) -> Path:
    path = folder / "stack.npy"
    header = npy_header((4096, 16, 512, 512))
    with path.open("wb") as file:
        file.write(header)
        file.truncate(len(header) + 8 * 4096 * 16 * 512 * 512)
    return path


def npy_sparse_by_columns(folder: Path) -> Path:
    path = folder / "columns.npy"
    header = npy_header((512, 8, 512, 512), by_columns=True)
    with path.open("wb") as file:
        file.write(header)
        file.truncate(len(header) + 8 * 512 * 8 * 512 * 512)
    return path


def cfl_sparse(folder: Path) -> Path:
    (folder / "sparse.hdr").write_text("# Dimensions\n4096 4096 1 32\n")
    with (folder / "sparse.cfl").open("wb") as file:
        file.truncate(8 * 32 * 4096 * 4096)
    return folder / "sparse.cfl"


def hdf5_dataset(path: Path, shape: tuple[int, ...], **options) -> Path:
    with h5py.File(path, "w") as file:
        file.create_dataset("kspace", shape, "c8", **options)
    return path


def hdf5_unwritten(folder: Path) -> Path:
    return hdf5_dataset(folder / "unwritten.h5", (16, 4, 4096, 2048), chunks=(1, 1, 512, 512), compression="gzip")


def hdf5_tiny_chunks(folder: Path) -> Path:
    """Half a million chunks, all of them stored, each unpacked on its own."""
    path = folder / "chunks.h5"
    with h5py.File(path, "w") as file:
        dataset = file.create_dataset("kspace", (1, 1, 512, 512), "c8", chunks=(1, 1, 2, 1), compression="gzip")
        dataset[...] = 1
    return path


def hdf5_written(folder: Path) -> Path:
    """A deflated dataset whose chunks are all the same few bytes."""
    path = folder / "written.h5"
    with h5py.File(path, "w") as file:
        dataset = file.create_dataset("kspace", (16, 4, 2048, 2048), "c8", chunks=(1, 1, 2048, 2048), compression=9)
        chunk = zlib.compress(bytes(8 * 2048 * 2048), 9)
        for index in np.ndindex(16, 4):
            dataset.id.write_direct_chunk((*index, 0, 0), chunk)
    return path


def hdf5_largest_chunk(folder: Path) -> Path:
    path = folder / "largest.h5"
    with h5py.File(path, "w") as file:
        dataset = file.create_dataset("kspace", (1, 16, 1024, 1024), "c8", chunks=(1, 16, 1024, 1024), compression=9)
        dataset.id.write_direct_chunk((0, 0, 0, 0), zlib.compress(bytes(1 << 27), 9))
    return path


def hdf5_chunk_that_grows(folder: Path) -> Path:
    """A chunk that unpacks to far more than its shape says."""
    path = folder / "grows.h5"
    with h5py.File(path, "w") as file:
        dataset = file.create_dataset("kspace", (1, 2, 64, 64), "c8", chunks=(1, 2, 64, 64), compression=9)
        dataset.id.write_direct_chunk((0, 0, 0, 0), b"\x78\xda" + deflated(b"", 2 * GIB) + bytes(4))
    return path


def hdf5_texts(folder: Path) -> Path:
    """An attribute of thousands of references to one long text."""
    path, long, count = folder / "texts.h5", 1 << 20, 3900
    with h5py.File(path, "w") as file:
        file["kspace"] = np.ones((1, 2, 64, 64), np.complex64)
        file.attrs.create("acquisition", ["x" * long] + ["y"] * (count - 1), (count,), h5py.string_dtype())
    content = bytearray(path.read_bytes())
    # A reference: the length, the place and the number of an object. The next one is to a text of one letter.
    first = content.index(struct.pack("<I", long))
    while content[first + 16 : first + 20] != struct.pack("<I", 1):
        first = content.index(struct.pack("<I", long), first + 1)
    content[first : first + 16 * count] = content[first : first + 16] * count
    path.write_bytes(content)
    return path


def hdf5_fixed_text(folder: Path) -> Path:
    path = folder / "fixed.h5"
    with h5py.File(path, "w") as file:
        file["kspace"] = np.ones((1, 2, 64, 64), np.complex64)
        kind = h5py.h5t.C_S1.copy()
        kind.set_size(1 << 31)
        space = h5py.h5s.create_simple((1,))
        h5py.h5d.create(file.id, b"ismrmrd_header", kind, space)
    return path


def hdf5_shared_readouts(folder: Path) -> Path:
    """Acquisitions that all refer to one long list of samples, which their heads do not declare."""
    lines = [acquisition(np.ones((1, 32), np.complex64), kspace_encode_step_1=number % 24) for number in range(2000)]
    lines[1500]["data"][0] = np.ones(1_000_000, np.float32)
    path = write_mrd(folder / "readouts.h5", lines, (32, 24))
    with h5py.File(path) as file:
        data = file["dataset/data"].id
        size = data.get_type().get_size()
        ends = [data.get_chunk_info(number).byte_offset + size for number in range(len(lines))]
    content = bytearray(path.read_bytes())
    long = content[ends[1500] - 16 : ends[1500]]
    for end in ends[100:]:
        content[end - 16 : end] = long
    path.write_bytes(content)
    return path


def nifti_deflated(folder: Path) -> Path:
    """Not quite a hundred times smaller than what it unpacks to: some noise among many zeros."""
    noise = np.random.Generator(np.random.Philox(key=1)).random(30 << 18, dtype=np.float32).tobytes()
    return write_nifti(folder / "deflated.nii.gz", (512, 512, 2600), np.float32, 2600 << 20, end=bytes(4) + noise)


def nifti_zeros(folder: Path) -> Path:
    return write_nifti(folder / "zeros.nii.gz", (1024, 1024, 512), np.float32, 2 * GIB)


def nifti_late_voxels(folder: Path) -> Path:
    """A header whose voxels begin after two gigabytes of an extension."""
    extension = struct.pack("<4B2i", 1, 0, 0, 0, 2**31 - 352 - 16, 6)
    return write_nifti(folder / "late.nii.gz", (16, 16, 4), np.float32, 2 * GIB, offset=2**31, end=extension)


def nifti_gap(folder: Path) -> Path:
    """A header whose voxels begin after two gigabytes of nothing."""
    return write_nifti(folder / "gap.nii.gz", (16, 16, 4), np.float32, 2 * GIB + 4096, offset=2**31)


def nifti_one_slice(folder: Path) -> Path:
    return write_nifti(folder / "slice.nii.gz", (16384, 16384), np.uint8, 1 << 28)


def nifti_few_voxels(folder: Path) -> Path:
    """A stack of empty slices with one voxel each, as large as one reading may be: its k-space is twice as large."""
    path, header = folder / "voxels.nii", nibabel.Nifti1Header()
    header.set_data_shape((4096, 8191, 3))
    header.set_data_dtype(np.float32)
    header["vox_offset"] = 352
    with path.open("wb") as file:
        file.write(header.binaryblock + bytes(4))
        for number in range(3):
            file.seek(352 + 4 * (4096 * 8191 * number + 4096 * 4000 + 2000))
            file.write(struct.pack("<f", 1))
        file.truncate(352 + 4 * 4096 * 8191 * 3)
    return path


def npy_few_samples(folder: Path) -> Path:
    """Half-precision pairs of a few samples: as k-space they are twice as large."""
    path, header = folder / "samples.npy", npy_header((16, 2048, 1023, 2), "<f2")
    with path.open("wb") as file:
        file.write(header)
        file.seek(len(header) + 4 * (2048 * 1023 * 8 + 1023 * 1024 + 511))
        file.write(np.ones(2, "<f2").tobytes())
        file.truncate(len(header) + 4 * 16 * 2048 * 1023)
    return path


def dicom_deflated(folder: Path) -> Path:
    """An image without compression of its own in a file that is compressed as a whole, to a thousandth."""
    path = folder / "deflated.dcm"
    write_image(path, np.zeros((1, 64, 64), np.uint16))
    content = path.read_bytes()
    explicit, whole = b"UI\x14\x001.2.840.10008.1.2.1\x00", b"UI\x16\x001.2.840.10008.1.2.1.99"
    start = content.index(explicit) + len(explicit)
    end = content.index(struct.pack("<HH", 8, 5))  # the first element behind those about the file
    length = struct.unpack_from("<I", content, 140)[0] + len(whole) - len(explicit)
    head = content[:140] + struct.pack("<I", length) + content[144:start].replace(explicit, whole) + content[start:end]
    path.write_bytes(head + deflated(content[end:], 2 * GIB))
    return path


BOMBS: dict[str, Callable[[Path], Path]] = {
    function.__name__: function
    for function in (
        *(npz_deflated, npz_one_slice, npz_by_columns, npz_lzma, npz_bzip2, npz_largest_read, npz_large_mask),
        *(npz_many_members, npy_sparse, npy_sparse_stack, npy_sparse_by_columns, cfl_sparse),
        *(hdf5_unwritten, hdf5_tiny_chunks, hdf5_written, hdf5_largest_chunk, hdf5_chunk_that_grows, hdf5_texts),
        *(
            hdf5_fixed_text,
            hdf5_shared_readouts,
            nifti_deflated,
            nifti_zeros,
            nifti_late_voxels,
            nifti_gap,
            nifti_one_slice,
            nifti_few_voxels,
            npy_few_samples,
            dicom_deflated,
        ),
    )
}
