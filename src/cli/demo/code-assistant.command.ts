import type { Command } from 'commander'
import { numberFrom } from '../options.ts'
import type { Session } from '../session.ts'
import type { AssistantOptions } from './code-assistant.ts'

export const define = (command: Command, session: Session): void => {
  command
    .option(
      '-m, --model <model>',
      'name of a model; auto: one that is served, else SERVICE_MODEL or a local one',
      'auto',
    )
    .option('--url <url>', 'address of an inference server (default: the one on this machine, port 8080)')
    .option('-p, --port <port>', 'port of the page; 0 picks a free one', numberFrom({ min: 0, max: 65_535 }), 8099)
    .option('--no-auto-start', 'do not start a server if none is running')
    .action(async (options: AssistantOptions) => {
      const { codeAssistant } = await import('./code-assistant.ts')
      await codeAssistant(session, options)
    })
}
