# One image for every part: `serve` (the API), `worker`, `migrate`, `keys`, `secrets`.
# It runs as nobody in particular, writes only to /data and /tmp, and needs no capability.

# The base is named by tag, so that a rebuild has its security updates. To fix it by a digest that you checked:
# docker build --build-context python:3.11-slim-bookworm=docker-image://python@sha256:… .
FROM python:3.11-slim-bookworm AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
WORKDIR /src
# what builds the wheel stays in this stage, outside the environment that the image gets
RUN python -m venv /opt/assay && python -m venv /opt/build
# what is needed changes seldom: a layer of its own, and every file of it is checked against its hash
COPY requirements-runtime.lock requirements-build.lock ./
RUN /opt/assay/bin/pip install --require-hashes --requirement requirements-runtime.lock \
 && /opt/build/bin/pip install --require-hashes --requirement requirements-build.lock
COPY pyproject.toml README.md LICENSE ./
COPY assay ./assay
COPY reports ./reports
COPY store ./store
COPY service ./service
COPY web ./web
# texts of the pages under /guide, to which web/guide has links
COPY docs/agent-card.md docs/calibration.md docs/glossary.md docs/how-to-read-a-rating.md ./docs/
COPY workers ./workers
COPY cli ./cli
COPY migrations ./migrations
RUN /opt/build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /tmp/wheel . \
 && /opt/assay/bin/pip install --no-deps --no-index /tmp/wheel/*.whl \
 && /opt/assay/bin/assay version

FROM python:3.11-slim-bookworm
LABEL org.opencontainers.image.title="Assay" \
      org.opencontainers.image.description="An independent bias-rating agency for AI services" \
      org.opencontainers.image.licenses="Apache-2.0"
RUN groupadd --gid 10001 assay \
 && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /data --shell /usr/sbin/nologin assay \
 && install --directory --owner 10001 --group 10001 /data
COPY --from=build /opt/assay /opt/assay
ENV PATH="/opt/assay/bin:$PATH" \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    ASSAY_DATA_DIR=/data \
    ASSAY_HOST=0.0.0.0 \
    ASSAY_LOG_JSON=true
VOLUME /data
EXPOSE 8000 9464
USER 10001:10001
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 \
  CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/livez', timeout=4)"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["assay"]
CMD ["serve"]
