# docker build -t gearstalkd .
# An image for others names its bases by digest: docs/releases.md.
ARG BASE=debian:12
ARG RUNTIME=debian:12-slim
FROM ${BASE} AS build
WORKDIR /src
COPY scripts/packages scripts/packages
RUN . scripts/packages && apt-get update -q && DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -q --no-install-recommends $build_packages git \
    && rm -rf /var/lib/apt/lists/*
COPY . .
RUN cmake -S . -B /build -G Ninja -DCMAKE_BUILD_TYPE=Release -DGEARSTALK_TESTS=OFF -DGEARSTALK_UNITY=ON \
      -DGEARSTALK_IMPORT_SQLITE=OFF -DGEARSTALK_IMPORT_MYSQL=OFF -DGEARSTALK_IMPORT_POSTGRES=OFF \
      -DGEARSTALK_IMPORT_REDIS=OFF \
    && cmake --build /build --target gearstalkd gearstalkctl \
    && strip /build/gearstalkd /build/gearstalkctl /build/store_*.so

FROM ${RUNTIME}
RUN apt-get update -q && DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -q --no-install-recommends libabsl20220623 libevent-core-2.1-7 \
    libfmt9 libprometheus-cpp-core1.0 \
    libprotobuf-lite32 libspdlog1.10 libssl3 libsystemd0 libyaml-cpp0.7 \
    libc-ares2 libgrpc++1.51 libgrpc29 libre2-9 zlib1g libpq5 \
    libcurl4 libncursesw6 libtinfo6 \
    && rm -rf /var/lib/apt/lists/* \
    && groupadd --system --gid 11300 gearstalkd \
    && useradd --system --uid 11300 --gid 11300 --home-dir /var/lib/gearstalkd --shell /usr/sbin/nologin gearstalkd \
    && install -d -o gearstalkd -g gearstalkd /var/lib/gearstalkd
COPY --from=build /build/gearstalkd /usr/sbin/gearstalkd
COPY --from=build /build/gearstalkctl /usr/bin/gearstalkctl
COPY --from=build /build/store_etcd.so /build/store_postgres.so /usr/lib/gearstalkd/
ARG VERSION=0.2.0
ARG REVISION=unknown
ARG SOURCE=https://gearstalkd.example
LABEL org.opencontainers.image.title="gearstalkd" \
    org.opencontainers.image.description="Job broker that speaks the beanstalk and the Gearman protocol" \
    org.opencontainers.image.licenses="Apache-2.0" \
    org.opencontainers.image.source="${SOURCE}" \
    org.opencontainers.image.version="${VERSION}" \
    org.opencontainers.image.revision="${REVISION}"
# A number, so that Kubernetes' runAsNonRoot can see that it is not root's.
USER 11300:11300
VOLUME /var/lib/gearstalkd
EXPOSE 11300 4730 11380
# Variables of `docker run -e`, and flags behind the image's name, override these defaults.
ENV GEARSTALKD_LISTEN="0.0.0.0:11300 0.0.0.0:4730" \
    GEARSTALKD_ADMIN=0.0.0.0:11380 \
    GEARSTALKD_DATA_DIR=/var/lib/gearstalkd
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
  CMD gearstalkctl --server "http://127.0.0.1:${GEARSTALKD_ADMIN##*:}" health
ENTRYPOINT ["/usr/sbin/gearstalkd"]
