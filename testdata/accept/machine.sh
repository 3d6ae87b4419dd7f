#!/bin/sh
# A machine of its own for the scenario of schedules: a real systemd as process 1 of
# new namespaces, over a copy of this system's files that is written to memory and
# gone with it. Nothing of this system is changed; the network has only a loopback.
#
#	machine.sh start  DIRECTORY PROGRAM SAMPLES PACKAGES
#
# DIRECTORY is empty; PROGRAM is copied to /usr/local/bin; SAMPLES become the home
# of the account lea; PACKAGES is a directory of Debian packages to install, or "".
set -eu
phase=$1 dir=$2 program=$3 samples=$4 packages=$5

if [ "$phase" = start ]; then
	cgroups=$(findmnt -n -o TARGET -t cgroup2 | head -1)
	own=$cgroups/sessctl-accept-$$
	mkdir "$own"
	echo "$own" >"$dir/cgroup"
	echo $$ >"$own/cgroup.procs"
	exec unshare --mount --pid --fork --kill-child --uts --ipc --net --cgroup sh "$0" inside "$dir" "$program" "$samples" "$packages"
fi

mount --make-rprivate /
mount -t tmpfs -o mode=755 tmpfs "$dir"
mkdir "$dir/changed" "$dir/work" "$dir/root"
root=$dir/root
mount -t overlay -o "lowerdir=/,upperdir=$dir/changed,workdir=$dir/work" overlay "$root"

mount -t proc proc "$root/proc"
mount --bind "$root/proc/sys" "$root/proc/sys"
mount -o remount,bind,ro "$root/proc/sys"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for device in null zero full random urandom tty; do
	touch "$root/dev/$device"
	mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir "$root/dev/shm" "$root/dev/pts"
ln -s /proc/self/fd "$root/dev/fd"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"

install -m 755 "$program" "$root/usr/local/bin/sessctl"
chroot "$root" useradd --create-home --shell /bin/sh lea
cp -R "$samples/." "$root/home/lea/"
chroot "$root" chown -R lea: /home/lea
find "$root/home/lea" -type f -exec touch -d '2 hours ago' {} + # nobody is at work
if [ -n "$packages" ]; then
	mkdir "$root/var/tmp/packages"
	cp "$packages"/*.deb "$root/var/tmp/packages"
	printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d" # nothing is started by being installed
	chmod 755 "$root/usr/sbin/policy-rc.d"
	for name in cron-daemon-common cron; do
		for package in "$root/var/tmp/packages/${name}_"*.deb; do
			[ ! -e "$package" ] || DEBIAN_FRONTEND=noninteractive chroot "$root" dpkg -i "/var/tmp/packages/$(basename "$package")" >&2
		done
	done
fi

# What is about the hardware and the rest of this system does not start.
units=$root/etc/systemd/system
rm -rf "$units"
mkdir -p "$units"
for unit in systemd-udevd.service systemd-udev-trigger.service systemd-udevd-control.socket systemd-udevd-kernel.socket systemd-sysctl.service \
	systemd-modules-load.service modprobe@.service systemd-timesyncd.service systemd-resolved.service systemd-networkd.service networking.service \
	systemd-remount-fs.service getty.target console-getty.service dev-hugepages.mount sys-kernel-debug.mount sys-kernel-tracing.mount \
	sys-kernel-config.mount sys-fs-fuse-connections.mount systemd-firstboot.service systemd-update-done.service; do
	ln -s /dev/null "$units/$unit"
done
printf '[Unit]\nDescription=What the scenario needs\nWants=basic.target timers.target dbus.socket systemd-logind.service\n' >"$units/sessctl-accept.target"
: >"$root/etc/fstab"
: >"$root/etc/machine-id"
rm -rf "$root/var/log/journal" "$root"/var/lib/systemd/timers

systemd=/lib/systemd/systemd
[ -x "$root$systemd" ] || systemd=/usr/lib/systemd/systemd
cd "$root"
exec env -i container=sessctl PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin chroot "$root" "$systemd" --system --unit=sessctl-accept.target --log-target=journal
