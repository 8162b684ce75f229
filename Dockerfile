# Both binaries, static, in an image that holds nothing else. docker-compose.yml says which one runs.
# Dockerfile.prebuilt makes the same image from ./bin where no registry is reachable.
FROM golang:1.26 AS build
WORKDIR /src
# The modules change rarely, so they are a layer of their own.
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
# .git is not in the build context, so the version comes as an argument.
RUN CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "-s -w -X github.com/tidemark-stream/tidemark/internal/cli.Version=${VERSION}" -o /image/bin/ ./cmd/... \
 && mkdir /image/out

FROM scratch
# For TLS to Redis under a public certificate.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /image/bin/ /bin/
# A new volume on /out takes its owner from here.
COPY --from=build --chown=65532:65532 /image/out/ /out/
ENV PATH=/bin
USER 65532:65532
CMD ["coordinator", "serve"]
