import { commandLinesOf } from '../src/cli/command.ts'
import { COMMANDS } from '../src/cli/commands.ts'
import { run } from '../src/cli/program.ts'

const helpOf = async (words: readonly string[]): Promise<string> => {
  let text = ''
  const sink = { write: (part: string): void => void (text += part) }
  const code = await run([...words, '--help'], { stdout: sink, stderr: sink, env: {}, cwd: process.cwd() })
  if (code !== 0) throw new Error(`svc ${words.join(' ')} --help failed:\n${text}`)
  return text.trim()
}

const section = async (title: string, words: readonly string[]): Promise<string> =>
  `## ${title}\n\n\`\`\`text\n${await helpOf(words)}\n\`\`\`\n`

/** docs/commands.md: what every command says of itself. */
export const commandsPage = async (): Promise<string> => {
  const sections = [await section('svc', [])]
  for (const command of COMMANDS) {
    for (const path of commandLinesOf(command)) sections.push(await section(`svc ${path.join(' ')}`, path))
  }
  return `# All commands of svc\n\nWhat each says with \`--help\`; written by \`npm run gen\`.\n\n${sections.join('\n')}`
}
