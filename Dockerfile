# An image with lockpick alone: simulated masters, and reports of runs in a volume.
#
#   make image                 without a registry: the program is built here, the image FROM scratch
#   docker build -t lockpick . builds the program in an image, too
#
#   docker run --rm -v "$PWD/store:/store" lockpick explore --faults kill,partition
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o /out/lockpick ./cmd/lockpick && mkdir /out/tmp /out/store

FROM scratch
COPY --from=build /out/ /
VOLUME /store
ENTRYPOINT ["/lockpick"]
