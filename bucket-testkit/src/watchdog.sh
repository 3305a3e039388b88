# Runs one mongod at a time for an owner, and cleans up after both.
#
#   sh -c SCRIPT watchdog FOLDER MONGOD ARGUMENT...
#
# Each line on standard input starts mongod; the end of standard input means
# that the owner is gone. FOLDER then holds: `output`, what mongod printed;
# `pid`, its process id; `exit`, its status once it has ended.

# When the owner of a paused mongod dies, this process group is an orphan with a
# stopped member, to which the kernel sends SIGHUP. Nothing but the end of the
# input may stop the watchdog.
trap '' HUP INT QUIT TERM

folder=$1
shift
minder=

while read -r _; do
    # A shell of its own waits for mongod, so that its end is known at once.
    (
        "$@" </dev/null >"$folder/output" 2>&1 &
        echo "$!" >"$folder/pid"
        wait "$!"
        echo "$?" >"$folder/exit"
    ) </dev/null &
    minder=$!
done

if [ -n "$minder" ]; then
    # The owner may go so early that the process id is still to be written.
    until [ -s "$folder/pid" ]; do sleep 1; done
    read -r pid <"$folder/pid"
    # After mongod's end its process id can be anybody's.
    [ -e "$folder/exit" ] || kill -KILL "$pid"
    wait "$minder"
fi
rm -rf -- "$folder"
