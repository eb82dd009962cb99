# Completion of agent-sandbox for fish.

# Asks the server of AGENT_SANDBOX_URL; prints nothing where there is none.
function __agent_sandbox_known
    set -l words (commandline -opc)
    set -l program (string replace -r '^~/' $HOME/ -- $words[1])
    $program complete $argv[1] 2>/dev/null </dev/null
end

# Whether one of these words was typed. Fish 4.0 has a function for that, which takes "sandbox cp" for mcp.
function __agent_sandbox_seen
    for word in (commandline -opc)[2..-1]
        contains -- $word $argv; and return 0
    end
    return 1
end

# Whether no word that is neither an option nor the value of one follows the subcommand, which is all of the arguments.
function __agent_sandbox_names_none_after
    set -l words (commandline -opc)
    set -l before ''
    set -l wanted $argv
    for word in $words[2..-1]
        if contains -- $before --env --workdir --timeout --idle --tail --signal --expires --allow --secret --volume --size --limit --status --listen --event --url --name --previous --port
            set before ''
        else if string match -q -- '-*' $word
            set before $word
        else if test (count $wanted) -gt 0
            test $word = $wanted[1]; or return 1
            set -e wanted[1]
            set before ''
        else
            return 1
        end
    end
    test (count $wanted) -eq 0
end

set -l commands exec serve mcp run sandbox volume webhook jobs logs benchmark lessons doctor
set -l programs exec run
set -l models run benchmark
set -l hosts exec serve mcp run benchmark

complete -c agent-sandbox -f
complete -c agent-sandbox -s h -l help -d 'Print the options'

set -l alone "not __agent_sandbox_seen $commands"
complete -c agent-sandbox -n $alone -l version -d 'Print the version'
complete -c agent-sandbox -n $alone -a exec -d 'Run one program in a jail'
complete -c agent-sandbox -n $alone -a serve -d 'Answer POST /execute over HTTP'
complete -c agent-sandbox -n $alone -a mcp -d 'Give a language model tools, by MCP'
complete -c agent-sandbox -n $alone -a run -d 'Let a model solve a task, in jails'
complete -c agent-sandbox -n $alone -a sandbox -d 'Sandboxes that live on a server'
complete -c agent-sandbox -n $alone -a volume -d 'Directories that outlive sandboxes'
complete -c agent-sandbox -n $alone -a webhook -d 'Send what happens to a URL'
complete -c agent-sandbox -n $alone -a jobs -d 'What a server runs or has run'
complete -c agent-sandbox -n $alone -a logs -d 'Print what a job or a sandbox wrote'
complete -c agent-sandbox -n $alone -a benchmark -d 'Let a model solve a suite of tasks, and count'
complete -c agent-sandbox -n $alone -a lessons -d 'What was learnt from tasks'
complete -c agent-sandbox -n $alone -a doctor -d 'Say what this host can enforce'

set -l seen "not __agent_sandbox_seen sandbox; and __agent_sandbox_seen $hosts"
complete -c agent-sandbox -n $seen -l cgroup -xa 'auto own none (__fish_complete_directories)' -d 'Where jails get a cgroup'
complete -c agent-sandbox -n $seen -l require-cgroup -d 'Refuse to run without a cgroup'

set -l seen "not __agent_sandbox_seen sandbox; and __agent_sandbox_seen $hosts doctor"
complete -c agent-sandbox -n $seen -l rootfs -xa 'host (__fish_complete_directories)' -d 'What programs see'

set -l seen "not __agent_sandbox_seen sandbox; and __agent_sandbox_seen $hosts doctor lessons"
complete -c agent-sandbox -n $seen -l user -xa '(__fish_complete_users)' -d 'Run as this user when started as root'

set -l seen "not __agent_sandbox_seen sandbox; and __agent_sandbox_seen $programs"
complete -c agent-sandbox -n $seen -l timeout -x -d 'Seconds until a program is ended'
complete -c agent-sandbox -n $seen -l memory -x -d 'Memory limit in MB'
complete -c agent-sandbox -n $seen -l file -rF -d 'A file for its working directory'
complete -c agent-sandbox -n $seen -l artifact -x -d 'Copy what the glob names afterwards'
complete -c agent-sandbox -n $seen -l overwrite -d 'Let artifacts replace files'
complete -c agent-sandbox -n $seen -l server -xa 'http://127.0.0.1:8000 https:// unix:/' -d 'Do it on this server'

set -l seen "__agent_sandbox_seen $models"
complete -c agent-sandbox -n $seen -s a -l attempts -x -d 'How often a program may be tried'
complete -c agent-sandbox -n $seen -l provider -x -d 'Which provider' \
    -a 'groq openrouter anthropic google openai cerebras ollama replay'
complete -c agent-sandbox -n $seen -l model -x -d 'Which of its models'

set -l seen 'not __agent_sandbox_seen sandbox; and __agent_sandbox_seen exec'
complete -c agent-sandbox -n $seen -F
complete -c agent-sandbox -n $seen -s c -x -d 'The program itself'
complete -c agent-sandbox -n $seen -s t -l tty -d 'Give the program a terminal'
complete -c agent-sandbox -n $seen -s i -l interactive -d 'Pass standard input on, as always'
complete -c agent-sandbox -n $seen -s n -l no-stdin -d 'Leave standard input alone'
complete -c agent-sandbox -n $seen -l processes -x -d 'Processes and threads at once'
complete -c agent-sandbox -n $seen -l disk -x -d 'For /workspace and /tmp, each, in MB'
complete -c agent-sandbox -n $seen -l language -xa 'python bash javascript typescript' -d 'Of the program'
complete -c agent-sandbox -n $seen -s e -l env -x -d 'A variable for the program'
complete -c agent-sandbox -n $seen -l allow -x -d 'Let it reach HOST:PORT'
complete -c agent-sandbox -n $seen -l template -xa 'bash data javascript python typescript (__agent_sandbox_known templates)' -d 'Its root and policy'
complete -c agent-sandbox -n $seen -l jail -rF -d 'What the jail has beside the usual'
complete -c agent-sandbox -n $seen -l json -d 'Print the result as POST /execute returns it'
complete -c agent-sandbox -n $seen -l explain -d 'Print the steps that make the jail'
complete -c agent-sandbox -n $seen -l stats -d 'Say what the program used'

set -l seen '__agent_sandbox_seen serve mcp'
complete -c agent-sandbox -n $seen -l config -rF -d 'Configuration file'

set -l seen '__agent_sandbox_seen serve'
complete -c agent-sandbox -n $seen -l host -xa '127.0.0.1 localhost unix:/' -d 'Address to listen on'
complete -c agent-sandbox -n $seen -l port -x -d 'Port to listen on'
complete -c agent-sandbox -n $seen -l log-level -xa 'debug info warning error' -d 'How much is logged'
complete -c agent-sandbox -n $seen -l log-format -xa 'text json' -d 'How it is logged'

set -l seen '__agent_sandbox_seen run'
complete -c agent-sandbox -n $seen -s v -l verbose -d 'Show reasons and output'
complete -c agent-sandbox -n $seen -l swarm -d 'Five roles together'
complete -c agent-sandbox -n $seen -l candidates -x -d 'Solutions side by side'
complete -c agent-sandbox -n $seen -l json -d 'Print the result as POST /execute returns it'
complete -c agent-sandbox -n $seen -l tests -rF -d 'Python appended to each program'
complete -c agent-sandbox -n $seen -l write-tests -d 'Let the model write tests first'
complete -c agent-sandbox -n $seen -l trace -rF -d 'Write what happened as HTML'
complete -c agent-sandbox -n $seen -l no-lessons -d 'Neither recall nor learn'

set -l seen '__agent_sandbox_seen benchmark'
complete -c agent-sandbox -n $seen -l suite -rF -d 'Which tasks' \
    -a 'quick algorithms error_recovery data math strings hard full'
complete -c agent-sandbox -n $seen -l limit -x -d 'Only the first tasks'
complete -c agent-sandbox -n $seen -l json -d 'Print for machines'
complete -c agent-sandbox -n $seen -l markdown -d 'Print for a README'

set -l actions list erase
complete -c agent-sandbox -n "__agent_sandbox_seen lessons; and not __agent_sandbox_seen $actions" -a list -d 'Show them'
complete -c agent-sandbox -n "__agent_sandbox_seen lessons; and not __agent_sandbox_seen $actions" -a erase -d 'Forget some'
complete -c agent-sandbox -n '__agent_sandbox_seen lessons; and __agent_sandbox_seen list' -l json -d 'For machines'
complete -c agent-sandbox -n '__agent_sandbox_seen lessons; and __agent_sandbox_seen erase' -l all -d 'All of them'

set -l actions list show cancel
set -l seen "__agent_sandbox_seen jobs; and not __agent_sandbox_seen $actions"
complete -c agent-sandbox -n $seen -a list -d 'Show them'
complete -c agent-sandbox -n $seen -a show -d 'Show one'
complete -c agent-sandbox -n $seen -a cancel -d 'End some that run'

set -l seen '__agent_sandbox_seen jobs; and not __agent_sandbox_seen show cancel'
complete -c agent-sandbox -n $seen -l limit -x -d 'At most so many'
complete -c agent-sandbox -n $seen -l status -xd 'Only those' \
    -a 'running success error timeout failed out_of_memory killed violation cancelled completed'
set -l seen '__agent_sandbox_seen jobs; and not __agent_sandbox_seen cancel'
complete -c agent-sandbox -n $seen -l json -d 'Print what the server answers'

set -l seen 'not __agent_sandbox_seen sandbox; and __agent_sandbox_seen logs'
complete -c agent-sandbox -n $seen -s f -l follow -d 'Go on until it ends'
complete -c agent-sandbox -n $seen -l tail -x -d 'Begin with the latest lines'

complete -c agent-sandbox -n '__agent_sandbox_seen doctor' -l json -d 'For machines'
complete -c agent-sandbox -n '__agent_sandbox_seen doctor' -l speed -d 'Only measure the speed of the host'

set -l actions create list get copy change delete
set -l seen "__agent_sandbox_seen volume; and not __agent_sandbox_seen $actions"
complete -c agent-sandbox -n $seen -a create -d 'Make an empty one'
complete -c agent-sandbox -n $seen -a list -d 'Show them'
complete -c agent-sandbox -n $seen -a get -d 'Show one'
complete -c agent-sandbox -n $seen -a copy -d 'Make one with the files of another'
complete -c agent-sandbox -n $seen -a change -d 'Give one another name or size'
complete -c agent-sandbox -n $seen -a delete -d 'Remove some'

set -l seen '__agent_sandbox_seen volume; and __agent_sandbox_seen create copy change'
complete -c agent-sandbox -n $seen -l size -x -d 'The most that its files may take, in MB'
set -l seen '__agent_sandbox_seen volume; and __agent_sandbox_seen create copy change list get'
complete -c agent-sandbox -n $seen -l json -d 'Print what the server answers'
complete -c agent-sandbox -n '__agent_sandbox_seen volume; and __agent_sandbox_seen change' -l name -x -d 'Its new name'

set -l actions create list get change test secret delete
set -l seen "__agent_sandbox_seen webhook; and not __agent_sandbox_seen $actions"
complete -c agent-sandbox -n $seen -a create -d 'Make one'
complete -c agent-sandbox -n $seen -a list -d 'Show them'
complete -c agent-sandbox -n $seen -a get -d 'Show one'
complete -c agent-sandbox -n $seen -a change -d 'Change one'
complete -c agent-sandbox -n $seen -a test -d 'Send a message of type test'
complete -c agent-sandbox -n $seen -a secret -d 'Give one another secret'
complete -c agent-sandbox -n $seen -a delete -d 'Remove some'

set -l seen '__agent_sandbox_seen webhook; and __agent_sandbox_seen create change'
complete -c agent-sandbox -n $seen -l event -xa 'created changed process_started process_ended file_written file_removed file_moved directory_made file_read url_signed pause_asked paused resume_asked resumed delete_asked ended forgotten egress_allowed egress_refused egress_ended memory_given_back restarted' -d 'A kind of event that is sent'
complete -c agent-sandbox -n $seen -l name -x -d 'Your word for it'
set -l seen '__agent_sandbox_seen webhook; and __agent_sandbox_seen change'
complete -c agent-sandbox -n $seen -l url -x -d 'Where events are sent'
complete -c agent-sandbox -n $seen -l enable -d 'Let it go on'
complete -c agent-sandbox -n $seen -l disable -d 'Stop it'
set -l seen '__agent_sandbox_seen webhook; and __agent_sandbox_seen secret'
complete -c agent-sandbox -n $seen -l previous -x -d 'How long the old one signs too'
set -l seen '__agent_sandbox_seen webhook; and __agent_sandbox_seen create list get change test secret'
complete -c agent-sandbox -n $seen -l json -d 'Print what the server answers'

set -l actions create list get exec shell cp ls rm url watch ps logs kill port token events metrics renew change resize pause resume delete
set -l seen "__agent_sandbox_seen sandbox; and not __agent_sandbox_seen $actions"
complete -c agent-sandbox -n $seen -a create -d 'Make one'
complete -c agent-sandbox -n $seen -a list -d 'Show them'
complete -c agent-sandbox -n $seen -a get -d 'Show one'
complete -c agent-sandbox -n $seen -a exec -d 'Run a command in one'
complete -c agent-sandbox -n $seen -a shell -d 'Work in one at a terminal'
complete -c agent-sandbox -n $seen -a cp -d 'Copy a file'
complete -c agent-sandbox -n $seen -a ls -d 'Show files'
complete -c agent-sandbox -n $seen -a rm -d 'Remove a file'
complete -c agent-sandbox -n $seen -a url -d 'Print a URL that opens a file'
complete -c agent-sandbox -n $seen -a watch -d 'Show what happens to files'
complete -c agent-sandbox -n $seen -a ps -d 'Show processes'
complete -c agent-sandbox -n $seen -a logs -d 'Show what its processes wrote'
complete -c agent-sandbox -n $seen -a kill -d 'Send a signal'
complete -c agent-sandbox -n $seen -a port -d 'Print an address'
complete -c agent-sandbox -n $seen -a token -d 'Give it another access token'
complete -c agent-sandbox -n $seen -a events -d 'Show what happened'
complete -c agent-sandbox -n $seen -a metrics -d 'Show what it uses'
complete -c agent-sandbox -n $seen -a renew -d 'Let it live longer'
complete -c agent-sandbox -n $seen -a change -d 'Change what it may reach, its times or limits'
complete -c agent-sandbox -n $seen -a resize -d 'Change what it may use'
complete -c agent-sandbox -n $seen -a pause -d 'Stop all that runs in some'
complete -c agent-sandbox -n $seen -a resume -d 'Let some go on'
complete -c agent-sandbox -n $seen -a delete -d 'End some'

set -l seen '__agent_sandbox_seen sandbox; and __agent_sandbox_seen create'
complete -c agent-sandbox -n $seen -l name -x -d 'A name to use in place of its id'
complete -c agent-sandbox -n $seen -l template -xa 'bash data javascript python typescript (__agent_sandbox_known templates)' -d 'Its root and policy'

set -l seen '__agent_sandbox_seen sandbox; and __agent_sandbox_seen create exec shell'
complete -c agent-sandbox -n $seen -s e -l env -x -d 'A variable for processes'
complete -c agent-sandbox -n $seen -l workdir -x -d 'Where processes start'

set -l seen '__agent_sandbox_seen sandbox; and __agent_sandbox_seen create list'
complete -c agent-sandbox -n $seen -l metadata -x -d 'A note to find it by'

set -l seen '__agent_sandbox_seen sandbox; and __agent_sandbox_seen create change resize'
complete -c agent-sandbox -n $seen -l memory -x -d 'Memory limit in MB'
complete -c agent-sandbox -n $seen -l processes -x -d 'Processes and threads at once'
complete -c agent-sandbox -n $seen -l disk -x -d 'For /workspace and /tmp, each, in MB'
complete -c agent-sandbox -n $seen -l cpu -x -d 'Processors that it may use'

set -l seen '__agent_sandbox_seen sandbox; and __agent_sandbox_seen create'
complete -c agent-sandbox -n $seen -l disk-kind -xa 'memory directory' -d 'What /workspace is'
complete -c agent-sandbox -n $seen -l warm -d 'Let exec -c begin with all modules of its template'

set -l seen '__agent_sandbox_seen sandbox; and __agent_sandbox_seen create exec change'
complete -c agent-sandbox -n $seen -l timeout -x -d 'Seconds until its end'

set -l seen '__agent_sandbox_seen sandbox; and __agent_sandbox_seen create change'
complete -c agent-sandbox -n $seen -l idle -x -d 'End it after so many seconds without a process or a request'

set -l seen '__agent_sandbox_seen sandbox; and __agent_sandbox_seen create'
complete -c agent-sandbox -n $seen -l on-timeout -xa 'delete pause' -d 'What becomes of it then'
complete -c agent-sandbox -n $seen -l no-auto-resume -d 'Let nothing but resume wake it'

set -l seen '__agent_sandbox_seen sandbox; and __agent_sandbox_seen create change'
complete -c agent-sandbox -n $seen -l allow -x -d 'Let it reach HOST:PORT'
complete -c agent-sandbox -n $seen -l secret -x -d 'A header that only the server adds'

set -l seen '__agent_sandbox_seen sandbox; and __agent_sandbox_seen create'
complete -c agent-sandbox -n $seen -l volume -xa '(__agent_sandbox_known volumes | string replace -r \'$\' :)' -d 'Let it have a volume, NAME:PATH'
complete -c agent-sandbox -n $seen -l port -x -d 'Where a server in it will listen'

set -l seen '__agent_sandbox_seen sandbox; and __agent_sandbox_seen change'
complete -c agent-sandbox -n $seen -l no-network -d 'Let it reach nothing'

set -l seen '__agent_sandbox_seen sandbox; and __agent_sandbox_seen list'
complete -c agent-sandbox -n $seen -l state -xa 'running paused ended' -d 'Only those'

set -l seen '__agent_sandbox_seen sandbox; and __agent_sandbox_seen exec'
complete -c agent-sandbox -n $seen -s c -x -d 'A program in place of a command'
complete -c agent-sandbox -n $seen -l language -xa 'python bash javascript typescript' -d 'Of the program'
complete -c agent-sandbox -n $seen -l background -d 'Leave it running'
complete -c agent-sandbox -n $seen -s i -l interactive -d 'Pass standard input on, as always'
complete -c agent-sandbox -n $seen -s n -l no-stdin -d 'Leave standard input alone'

set -l seen '__agent_sandbox_seen sandbox; and __agent_sandbox_seen cp rm watch'
complete -c agent-sandbox -n $seen -l recursive -s r -d 'With all that is in it'

set -l seen '__agent_sandbox_seen sandbox; and __agent_sandbox_seen url'
complete -c agent-sandbox -n $seen -l write -d 'To write the file by PUT'
complete -c agent-sandbox -n $seen -l expires -x -d 'Seconds until it opens nothing'

set -l seen '__agent_sandbox_seen sandbox; and __agent_sandbox_seen logs events'
complete -c agent-sandbox -n $seen -l follow -s f -d 'Go on until it ends'

set -l seen '__agent_sandbox_seen sandbox; and __agent_sandbox_seen logs'
complete -c agent-sandbox -n $seen -l tail -x -d 'Begin with the latest lines'

set -l seen '__agent_sandbox_seen sandbox; and __agent_sandbox_seen kill'
complete -c agent-sandbox -n $seen -l signal -xa 'TERM KILL INT HUP QUIT STOP CONT USR1 USR2' -d 'By name or number'
complete -c agent-sandbox -n $seen -l group -d 'All processes of its group'

set -l seen '__agent_sandbox_seen sandbox; and __agent_sandbox_seen port'
complete -c agent-sandbox -n $seen -l listen -x -d 'A port of this host that leads to it'

set -l seen '__agent_sandbox_seen sandbox; and __agent_sandbox_seen create list get exec ls url watch ps events metrics change resize'
complete -c agent-sandbox -n $seen -l json -d 'Print what the server answers'

set -l seen '__agent_sandbox_seen sandbox; and __agent_sandbox_seen cp'
complete -c agent-sandbox -n $seen -F

for action in get exec shell ls rm url watch ps logs kill port token events metrics renew change resize
    complete -c agent-sandbox -n "__agent_sandbox_names_none_after sandbox $action" -a '(__agent_sandbox_known sandboxes)'
end
complete -c agent-sandbox -n '__agent_sandbox_seen sandbox; and __agent_sandbox_seen pause resume delete' -a '(__agent_sandbox_known sandboxes)'
complete -c agent-sandbox -n '__agent_sandbox_seen sandbox; and __agent_sandbox_seen cp' -a '(__agent_sandbox_known sandboxes | string replace -r \'$\' :)'
for action in get copy change
    complete -c agent-sandbox -n "__agent_sandbox_names_none_after volume $action" -a '(__agent_sandbox_known volumes)'
end
complete -c agent-sandbox -n '__agent_sandbox_seen volume; and __agent_sandbox_seen delete' -a '(__agent_sandbox_known volumes)'
for action in get change test secret
    complete -c agent-sandbox -n "__agent_sandbox_names_none_after webhook $action" -a '(__agent_sandbox_known webhooks)'
end
complete -c agent-sandbox -n '__agent_sandbox_seen webhook; and __agent_sandbox_seen delete' -a '(__agent_sandbox_known webhooks)'
complete -c agent-sandbox -n '__agent_sandbox_names_none_after jobs show' -a '(__agent_sandbox_known jobs)'
complete -c agent-sandbox -n '__agent_sandbox_seen jobs; and __agent_sandbox_seen cancel' -a '(__agent_sandbox_known jobs)'
complete -c agent-sandbox -n '__agent_sandbox_names_none_after logs' -a '(__agent_sandbox_known jobs; __agent_sandbox_known sandboxes)'
