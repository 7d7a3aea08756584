import { Command, CommanderError, type ErrorOptions, Help, type Option, type ParseOptionsResult } from 'commander'
import { meantBy } from '../domain/misspelling.ts'
import { cut } from '../domain/text.ts'
import type { CommandEntry, CommandFile, CommandGroup } from './command.ts'
import { COMMANDS } from './commands.ts'
import { ExitCode } from './exit-code.ts'
import { Failure, wrongUsage } from './failure.ts'
import { Interrupted, type Io } from './io.ts'
import { withoutControlCharacters, withoutKeys } from './output.ts'
import { packageVersion } from './package-version.ts'
import { createSession } from './session.ts'

/** Like commander's descriptions, but marks required options. */
const HELP = {
  optionDescription: (option: Option): string =>
    new Help().optionDescription(option) + (option.mandatory ? ' (required)' : ''),
}

const LONG_VALUE = /(?<=(?:argument|value) ')(.{61,})(?=' is invalid)/su

/** Shortens a long value, which would push the reason out of sight. */
const withShortValue = (message: string): string => message.replace(LONG_VALUE, (value) => `${cut(value, 60)}…`)

class SvcCommand extends Command {
  override createCommand(name?: string): SvcCommand {
    return new SvcCommand(name)
  }

  /** Commander reports a missing required option before an unknown one, which may be that option with a typo. */
  override parseOptions(argv: string[]): ParseOptionsResult {
    const parsed = super.parseOptions(argv)
    if (parsed.unknown.length > 0 && !parsed.unknown.some(isHelp))
      for (const option of this.options) option.makeOptionMandatory(false)
    return parsed
  }

  /**
   * Commander takes a name such as `-x` for an option, and reports too many arguments for a misspelled subcommand of a group that
   * is also a command, such as `svc models`. That command alone does what its summary begins with: `list`.
   */
  override error(complete: string, options?: ErrorOptions): never {
    const message = withShortValue(complete)
    const [, dashed] = /^error: unknown option '(-[^-'][^']*)'$/.exec(message) ?? []
    const argument = this.registeredArguments[this.args.indexOf(dashed ?? '')]
    if (dashed !== undefined && argument?.required) {
      const name = `<${argument.name()}>`
      return super.error(
        `${message}\nIf it is the ${name}, put it last, after --: svc ${pathOf(this)} -- ${name}`,
        options,
      )
    }
    const isSubcommand = this.commands.length > 0 && this.registeredArguments.length === 0
    if (options?.code !== 'commander.excessArguments' || !isSubcommand) return super.error(message, options)
    const [word = ''] = this.args
    const [own = ''] = this.summary().split(' ')
    const meant = meantBy(word, [...this.commands.map((command) => command.name()), own])
    const hint = meant === null ? '' : `\n(Did you mean ${meant === own ? `svc ${pathOf(this)}` : meant}?)`
    return super.error(`error: unknown command '${word}'${hint}`, options)
  }
}

const NOTES = `
Environment:
  SERVICE_API_KEY        API key that takes precedence over svc login
  SERVICE_API_BASE       address of the service (default: http://127.0.0.1:8000)
  SERVICE_DASHBOARD_URL  dashboard address for svc dashboard, login, and deploy --phone (default: the service's)
  SERVICE_MODEL          default model of svc run, serve, benchmark, launch, and demo
  SERVICE_HOME           folder with credentials.json and config.json (default: ~/.svc)
  HTTPS_PROXY, NO_PROXY  HTTP proxy of this network, and hosts that are reached without it
  SVC_PAGER, PAGER       pager for long tables (default: less)
  NO_COLOR               print no colors

Exit codes: 0 success, 1 failure, 2 usage error, 130 Ctrl-C, 143 SIGTERM.`

interface Chosen {
  readonly load: CommandEntry['load']
  readonly file: CommandFile
}

/** Loads the module of the command that `words` start with; null if there is none. */
const chosenBy = async ([first, second]: readonly string[]): Promise<Chosen | null> => {
  const top = COMMANDS.find(({ name }) => name === first)
  const below = top !== undefined && 'commands' in top ? top.commands.find(({ name }) => name === second) : undefined
  const load = (below ?? top)?.load
  return load === undefined ? null : { load, file: await load() }
}

const isHelp = (word: string): boolean => word === '--help' || word === '-h'

/**
 * Turns `svc help keys list` into `svc keys list --help`, because commander's own help command would need all modules. For an
 * unknown command, drops --help, because commander would show its parent's help as if nothing were wrong. Drops `--` before a
 * command, as commander does.
 */
const normalized = (argv: readonly string[]): readonly string[] => {
  const words = argv[0] === 'help' ? [...argv.slice(1), '--help'] : [...argv]
  let level: readonly (CommandEntry | CommandGroup)[] = COMMANDS
  for (let at = 0; at < words.length; at++) {
    const commandNamed = (word: string | undefined) => level.find(({ name }) => name === word)
    if (words[at] === '--' && commandNamed(words[at + 1]) !== undefined) words.splice(at, 1)
    if (words[at]!.startsWith('-')) break
    const found = commandNamed(words[at])
    if (found === undefined) return words.filter((other) => !isHelp(other))
    if (!('commands' in found)) break
    level = found.commands
  }
  return words
}

/**
 * Removes `--verbose` before `--`, after which words belong to an agent or a prompt, but `-v` only before the command: after it,
 * -v is often the command's --version.
 */
const withoutVerbose = (argv: readonly string[]): readonly [words: readonly string[], verbose: boolean] => {
  const end = argv.includes('--') ? argv.indexOf('--') : argv.length
  const words = argv.filter((word, at) => at >= end || (word !== '--verbose' && !(at === 0 && word === '-v')))
  return [words, words.length < argv.length]
}

/**
 * Runs one command line and returns the exit code: 0 done, 1 failed, 2 wrong usage, 130 or 143 interrupted. Never exits the
 * process, and accesses only what `io` contains and what the command needs.
 */
export const run = async (argv: readonly string[], io: Io): Promise<number> => {
  if (argv[0] === '__complete') {
    const { complete } = await import('./completion/complete.ts')
    await complete(argv.slice(argv[1] === '--' ? 2 : 1), COMMANDS, io)
    return 0
  }
  // Twice, because it may stand before a command, or after a `--` that is dropped.
  const [requested, isVerboseFirst] = withoutVerbose(argv)
  const [words, isVerboseLater] = withoutVerbose(normalized(requested))
  const stderr = (text: string): void => void io.stderr.write(withoutKeys(withoutControlCharacters(text)))
  const session = createSession({ ...io, verbose: isVerboseFirst || isVerboseLater })
  try {
    const chosen = await chosenBy(words)
    const program = new SvcCommand('svc')
      .description('Device orchestration, model delivery, and federated training.')
      .usage('<command> [options]')
      .version(packageVersion(), '--version', 'print the version')
      .option('-v, --verbose', 'log requests and their times to stderr')
      .helpOption('-h, --help', 'show help')
      .helpCommand(false)
      // After a command, --version belongs to that command: `svc push m.onnx --version 1.0.0`.
      .enablePositionalOptions()
      .addHelpText('after', NOTES)
      .configureHelp(HELP)
      .exitOverride()
      .configureOutput({
        writeOut: (text) => void io.stdout.write(text),
        writeErr: stderr,
        getOutHelpWidth: () => 100,
        getErrHelpWidth: () => 100,
        getOutHasColors: () => false,
        getErrHasColors: () => false,
        outputError: (text, write) => write(text.replace(/^error: (command-argument value )?/, 'svc: ')),
      })
    const add = (parent: Command, { name, summary, ...rest }: CommandEntry | CommandGroup): void => {
      const command = parent.command(name).summary(summary).description(sentence(summary)).helpCommand(false)
      // Commands inherit this from their group, which may allow any, below.
      command.allowExcessArguments(false)
      command.showHelpAfterError(`Usage: svc ${pathOf(command)} --help`)
      if (rest.load !== undefined && rest.load === chosen?.load) chosen.file.define(command, session)
      // Commander treats a command without an action as a group. Called only if options precede the command's name.
      else if (rest.load !== undefined)
        command
          .allowUnknownOption()
          .allowExcessArguments()
          .action(() => {
            throw wrongUsage(`The command must come before its options: svc ${pathOf(command)}.`)
          })
      if ('commands' in rest) for (const entry of rest.commands) add(command.usage(usageOf(command, rest.load)), entry)
    }
    program.showHelpAfterError('List commands with: svc --help')
    program.hook('preAction', (_program, command) => refuseEmptyValues(command))
    for (const entry of COMMANDS) add(program, entry)
    await program.parseAsync(words, { from: 'user' })
    return io.signal?.aborted ? interruption(io.signal).exitCode : 0
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    if (error instanceof Interrupted || error instanceof ExitCode) return error.exitCode
    if (io.signal?.aborted) return interruption(io.signal).exitCode
    const { explain } = await import('./file-errors.ts')
    stderr(`svc: ${explain(session.toUserError(error))}\n`)
    return error instanceof Failure ? error.exitCode : 1
  }
}

const PATH_ARGUMENTS = ['target', 'source', 'file', 'path', 'model_path']
const PATH_OPTION = /<(folder|file|path)>/
const NAME_OPTION = /<(version|group|device|federation|org_id)>/

/** An empty path would be the current folder. An empty value is usually a variable of the shell that is not set. */
const refuseEmptyValues = (command: Command): void => {
  const empty = (kind: RegExp) =>
    command.options
      .filter((option) => kind.test(option.flags) && command.getOptionValue(option.attributeName()) === '')
      .map(({ long }) => long)
  const paths = [
    ...command.registeredArguments
      .filter((argument, at) => PATH_ARGUMENTS.includes(argument.name()) && command.args[at] === '')
      .map((argument) => `<${argument.name()}>`),
    ...empty(PATH_OPTION),
  ]
  if (paths.length > 0) throw wrongUsage(`${paths[0]} is empty.`, 'Give a path, such as ./folder.')
  // A text may be empty; all other required arguments name something.
  const names = [
    ...command.registeredArguments
      .filter((argument, at) => argument.required && argument.name() !== 'text' && command.args[at] === '')
      .map((argument) => `<${argument.name()}>`),
    ...empty(NAME_OPTION),
  ]
  if (names.length > 0)
    throw wrongUsage(`${names[0]} is empty.`, 'If it is a variable of the shell, check that it is set.')
}

const interruption = ({ reason }: AbortSignal): Interrupted =>
  reason instanceof Interrupted ? reason : new Interrupted('SIGINT')

/** The usage of a group, which may itself be a command with arguments. */
const usageOf = ({ registeredArguments }: Command, own: CommandEntry['load'] | undefined): string =>
  own === undefined
    ? '<command> [options]'
    : ['[command]', ...registeredArguments.map((argument) => `[${argument.name()}]`), '[options]'].join(' ')

const sentence = (summary: string): string => `${summary[0]!.toUpperCase()}${summary.slice(1)}.`

const pathOf = (command: Command): string => {
  const names: string[] = []
  for (let at: Command | null = command; at?.parent; at = at.parent) names.unshift(at.name())
  return names.join(' ')
}
