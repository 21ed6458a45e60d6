# Bare Debian roots; a source for scripts. Needs root, debootstrap and Debian's archive.

# bare_root SUITE FOLDER: unpacks a minimal root of the suite to FOLDER, from a copy kept in build-roots/.
bare_root() {
  local kept=build-roots/$1.tar
  [ -f "$kept" ] || {
    mkdir -p build-roots
    rm -rf build-roots/new
    debootstrap --variant=minbase "$1" build-roots/new http://deb.debian.org/debian >/dev/null
    tar -C build-roots/new -cf "$kept.part" . && mv "$kept.part" "$kept"
    rm -rf build-roots/new
  }
  rm -rf "$2"
  mkdir -p "$2"
  tar -C "$2" -xf "$kept"
  echo "127.0.0.1 localhost $(hostname)" >"$2/etc/hosts"
  # If a proxy replaces certificates, pip needs those of this system.
  cp /etc/ssl/certs/ca-certificates.crt "$2/etc/pip-certificates.crt"
  printf '[global]\ncert = /etc/pip-certificates.crt\n' >"$2/etc/pip.conf"
}

# inside FOLDER COMMAND: runs the command in the root at FOLDER, in its /root. Its mounts end with it.
inside() {
  echo "+ $2"
  unshare --mount bash -euc '
    mount -t proc proc "$1/proc"
    mount -t tmpfs dev "$1/dev"
    for device in null zero full random urandom tty; do
      touch "$1/dev/$device"
      mount --bind "/dev/$device" "$1/dev/$device"
    done
    mkdir "$1/dev/shm" "$1/dev/pts"
    chmod 1777 "$1/dev/shm"
    mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$1/dev/pts"
    ln -s pts/ptmx "$1/dev/ptmx"
    ln -s /proc/self/fd "$1/dev/fd"
    ln -s /proc/self/fd/0 "$1/dev/stdin"
    ln -s /proc/self/fd/1 "$1/dev/stdout"
    ln -s /proc/self/fd/2 "$1/dev/stderr"
    cp /etc/resolv.conf "$1/etc/resolv.conf"
    exec chroot "$1" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive \
      bash -euc "cd; $2"' inside "$1" "$2"
}
