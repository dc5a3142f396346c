# somamba on a CPU: docker build --tag somamba . && docker run --rm --volume "$PWD:/data" somamba reconstruct scan.h5 -o image.nii.gz
FROM python:3.12-slim-bookworm AS build
# Any compiler of this Debian will do, so none is pinned.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends g++ \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY pyproject.toml setup.py MANIFEST.in README.md LICENSE CHANGELOG.md CITATION.cff constraints.txt constraints-smallest.txt ./
COPY src src
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.12-slim-bookworm
COPY --from=build /wheels /wheels
COPY constraints.txt .ci/installed.py /proof/
# The index of PyTorch has the build without CUDA, which is a tenth of the size.
RUN pip install --no-cache-dir --extra-index-url https://download.pytorch.org/whl/cpu \
        --constraint /proof/constraints.txt "$(echo /wheels/*.whl)[report,dicom]" \
    && useradd --create-home --uid 1000 somamba
USER 1000
RUN python /proof/installed.py
WORKDIR /data
ENTRYPOINT ["somamba"]
CMD ["--help"]
