# The package brings its native part from its releases. Where that host is out of reach, it is built
# from the librdkafka in the package, which takes minutes: so only once for each package-lock.json.
# "dynamic" takes zlib and OpenSSL from this machine; otherwise their sources would be fetched too.
set -e
cmp -s package-lock.json node_modules/.built && exit
CKJS_LINKING=dynamic npm ci
cp package-lock.json node_modules/.built
