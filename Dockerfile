# The service in a container. Build it from the root of the repository: docker build -t tacit .
# Everything that is installed from a package index is pinned and hashed in requirements/serve.txt.

FROM python:3.13-slim AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /source
RUN python -m venv /venv
COPY requirements/serve.txt requirements/serve.txt
RUN /venv/bin/pip install --require-hashes --only-binary :all: --requirement requirements/serve.txt
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN /venv/bin/pip install --no-deps --no-build-isolation . && /venv/bin/python -m compileall -q /venv/lib

FROM python:3.13-slim
# pg_dump, for `tacit service backup` of what lies in PostgreSQL
RUN apt-get update \
    && apt-get install --yes --no-install-recommends postgresql-client \
    && rm -rf /var/lib/apt/lists/* \
    && groupadd --gid 10001 tacit \
    && useradd --uid 10001 --gid tacit --home-dir /var/lib/tacit --shell /usr/sbin/nologin tacit \
    && install --directory --owner tacit --group tacit --mode 0700 /var/lib/tacit
COPY --from=build /venv /venv
ENV PATH=/venv/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 \
    TACIT_SERVER_LISTEN=0.0.0.0:8321 TACIT_SERVER_STATE=/var/lib/tacit/state
USER 10001:10001
WORKDIR /var/lib/tacit
VOLUME /var/lib/tacit
EXPOSE 8321 8322
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s \
    CMD ["python", "-c", "import http.client as c; h = c.HTTPConnection('127.0.0.1', 8321, timeout=4); h.request('GET', '/healthz'); exit(h.getresponse().status != 200)"]
ENTRYPOINT ["tacit"]
CMD ["serve"]
