import { Argument, type Command } from 'commander'
import type { Session } from '../session.ts'

type Shell = 'bash' | 'zsh' | 'fish'

/**
 * Each script calls `svc __complete` with the words so far; the last one is the word to complete. If it was completed in part, it
 * contains the shell's quoting, which is removed.
 */
const SCRIPTS: Readonly<Record<Shell, string>> = {
  // bash inserts completions as they are, in place of $2, and devices choose their names. It also splits words at ':' and '='.
  bash: `_svc() {
  local word line=$COMP_LINE words=() typed quote= before name quoted
  for word in "\${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
    if [[ \${#words[@]} -eq 0 || $line == [[:space:]]* ]]; then words+=("$word"); else words[\${#words[@]}-1]+=$word; fi
    line=\${line#"\${line%%[![:space:]]*}"}
    line=\${line#"$word"}
  done
  typed=\${words[\${#words[@]}-1]}
  [[ $typed == [\\"\\']* ]] && quote=\${typed:0:1} typed=\${typed:1}
  before=\${typed%"$2"}
  if [[ -z $quote ]]; then
    IFS= read typed <<< "$typed"
    IFS= read before <<< "$before"
  fi
  words[\${#words[@]}-1]=$typed
  COMPREPLY=()
  while IFS= read -r name; do
    name=\${name#"$before"}
    printf -v quoted %q "$name"
    if [[ -z $quote ]]; then COMPREPLY+=("\${quoted#\\'\\'}"); elif [[ $quoted == "$name" ]]; then COMPREPLY+=("$name"); fi
  done < <(svc __complete -- "\${words[@]:1}" 2>/dev/null)
  [ \${#COMPREPLY[@]} -eq 0 ] && compopt -o default
}
complete -F _svc svc
`,
  zsh: `#compdef svc
_svc() {
  local -a found
  found=(\${(f)"$(svc __complete -- "\${(@Q)words[2,CURRENT-1]}" "\${(Q)PREFIX}" 2>/dev/null)"})
  if (( \${#found} )); then compadd -a found; else _files; fi
}
compdef _svc svc
`,
  fish: `function __svc_complete
  set -l words (commandline -opc)
  set -l typed (commandline -ct)
  set -l plain (string unescape -- $typed); or set plain $typed
  svc __complete -- $words[2..-1] "$plain" 2>/dev/null
end
complete -c svc -a '(__svc_complete)'
`,
}

const HOW = `
Add it to the startup file of your shell:
  bash  eval "$(svc completion bash)"     in ~/.bashrc
  zsh   eval "$(svc completion zsh)"      in ~/.zshrc, after compinit
  fish  svc completion fish | source      in ~/.config/fish/config.fish

It also completes the names of models, devices, groups, and jobs of the service that svc is signed in to.`

export const define = (command: Command, { io }: Session): void => {
  command
    .addArgument(new Argument('<shell>', 'shell that the script is for').choices(Object.keys(SCRIPTS)))
    .addHelpText('after', HOW)
    .action((shell: Shell) => void io.stdout.write(SCRIPTS[shell]))
}
