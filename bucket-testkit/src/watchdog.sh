# Runs one server process at a time for an owner, and cleans up after both.
#
#   sh -c SCRIPT watchdog FOLDER LIBRARIES PROGRAM ARGUMENT...
#
# Each line on standard input starts the program; the end of standard input
# means that the owner is gone. FOLDER then holds: `output`, what the program
# printed; `pid`, its process id; `exit`, its status once it has ended.
# LIBRARIES is a folder of shared libraries for it, or empty.

# When the owner of a paused program dies, this process group is an orphan with a
# stopped member, to which the kernel sends SIGHUP. Nothing but the end of the
# input may stop the watchdog.
trap '' HUP INT QUIT TERM

folder=$1
libraries=$2
shift 2
minder=

while read -r _; do
    # A shell of its own waits for the program, so that its end is known at once.
    (
        if [ -n "$libraries" ]; then
            export LD_LIBRARY_PATH="$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
        fi
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
    # After the program's end its process id can be anybody's.
    [ -e "$folder/exit" ] || kill -KILL "$pid"
    wait "$minder"
fi
rm -rf -- "$folder"
