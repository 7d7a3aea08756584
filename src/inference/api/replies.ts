import type { Finished } from '../engines/engine.ts'
import type { ChoiceEvent } from './run-choices.ts'
import { addEvent, NOTHING, type Tally } from './usage.ts'

/** A choice once it is whole. */
export interface Reply {
  readonly text: string
  /** Arguments as JSON. */
  readonly calls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[]
  readonly result: Finished
}

interface Growing {
  text: string
  readonly calls: { readonly id: string; readonly name: string; arguments: string }[]
  result: Finished
}

const UNFINISHED: Finished = { reason: 'stop', completionTokens: 0, speculation: null }

const grow = (reply: Growing, { event }: ChoiceEvent): void => {
  if (event.type === 'text') reply.text += event.text
  if (event.type === 'call') reply.calls.push({ id: event.callId, name: event.name, arguments: '' })
  if (event.type === 'arguments') reply.calls.at(-1)!.arguments += event.text
  if (event.type === 'finished') reply.result = event.result
}

/** Reads all choices to their ends. */
export const collectReplies = async (
  events: AsyncIterable<ChoiceEvent>,
  choices: number,
  saw: (choice: ChoiceEvent) => void,
): Promise<{ readonly replies: readonly Reply[]; readonly tally: Tally }> => {
  const replies = Array.from({ length: choices }, (): Growing => ({ text: '', calls: [], result: UNFINISHED }))
  let tally = NOTHING
  for await (const choice of events) {
    tally = addEvent(tally, choice)
    saw(choice)
    grow(replies[choice.index]!, choice)
  }
  return { replies, tally }
}
