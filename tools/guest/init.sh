#!/bin/busybox sh
# The first and only program of a guest: loads the modules, then runs the commands that come in on
# the second serial port, one after the other. A command is a line: a number, the seconds that it may
# take, and a shell script in base64. Its answer is a line with the number, the exit status and the
# length of the output, and then the output.
# Once there is /proc, Debian's busybox finds its programs without a path, and prefers them: iproute2
# is /sbin/ip.
export PATH=/usr/bin:/usr/sbin:/bin:/sbin
/bin/busybox mkdir -p /proc /sys /dev /tmp /run
/bin/busybox mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
ln -s /proc/self/fd /dev/fd
for module in /modules/*.ko; do
    insmod "$module" || echo "guest: $module does not load"
done
# Without an IPv6 address the kernel sends no packets of its own.
echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
ip link set lo up
python3.11 /peer.py &
stty -F /dev/ttyS1 raw -echo
# In a process of its own: what ends without a parent interrupts process 1, and `read` would then lose
# what it has of a line.
while read -r number limit_s script; do
    echo "$script" | base64 -d >/tmp/script
    timeout -k 1 "$limit_s" sh /tmp/script </dev/null >/tmp/answer 2>&1
    echo "$number $? $(stat -c %s /tmp/answer)"
    cat /tmp/answer
done </dev/ttyS1 >/dev/ttyS1 &
wait $!
