# The last stage of ../Dockerfile, for a program that is built already: needs no registry.
FROM scratch
COPY . /
VOLUME /store
ENTRYPOINT ["/lockpick"]
