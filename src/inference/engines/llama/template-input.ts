import { createHash } from 'node:crypto'
import { HERMES, type TemplateTools } from '../../structured-output/tool-syntax.ts'
import type { ChatMessage, Tool, ToolCall } from '../engine.ts'

/** What a chat template is given, as Hugging Face's templates expect it. */
export interface TemplateInput {
  readonly messages: readonly TemplateMessage[]
  readonly tools: readonly object[]
}

interface TemplateMessage {
  readonly role: string
  readonly content: string
  readonly [field: string]: unknown
}

const presentTool = ({ name, description, parameters }: Tool) => ({
  type: 'function',
  function: { name, description: description ?? '', parameters },
})

/** Nine letters and digits, the same for the same id. */
const shortId = (id: string): string => createHash('sha256').update(id).digest('hex').slice(0, 9)

/** For templates that know functions: the fields that Hugging Face documents for them. */
const nativeInput = (messages: readonly ChatMessage[], tools: readonly Tool[], shortIds: boolean): TemplateInput => {
  const idOf = (id: string): string => (shortIds ? shortId(id) : id)
  const names = new Map(messages.flatMap(({ toolCalls = [] }) => toolCalls.map(({ id, name }) => [id, name] as const)))
  return {
    tools: tools.map(presentTool),
    messages: messages.map(({ role, content, toolCalls = [], toolCallId }) => ({
      role,
      content,
      ...(toolCalls.length > 0 && {
        tool_calls: toolCalls.map(({ id, name, arguments: given }) => ({
          id: idOf(id),
          type: 'function',
          function: { name, arguments: given },
        })),
      }),
      ...(toolCallId !== undefined && { tool_call_id: idOf(toolCallId), name: names.get(toolCallId) ?? '' }),
    })),
  }
}

const callText = ({ name, arguments: given }: ToolCall): string =>
  `${HERMES.trigger}\n${HERMES.beforeName}${name}${HERMES.beforeArguments}${JSON.stringify(given)}${HERMES.afterArguments}${HERMES.end}`

/** What models are told whose template knows no functions. docs/inference.md has it, too. */
const instructions = (
  tools: readonly Tool[],
): string => `You may call these functions. JSON schemas describe their parameters:
<tools>
${tools.map((tool) => JSON.stringify(presentTool(tool))).join('\n')}
</tools>

To call functions, reply with a JSON object in tags for each call, and with nothing after the last:
<tool_call>
{"name": "<name of the function>", "arguments": {"<parameter>": <value>}}
</tool_call>`

/** For other templates: everything is text in messages of the roles that each template knows. */
const writtenInput = (messages: readonly ChatMessage[], tools: readonly Tool[]): TemplateInput => {
  const written: TemplateMessage[] = []
  for (const { role, content, toolCalls = [] } of messages) {
    const result = role === 'tool' ? `<tool_response>\n${content}\n</tool_response>` : null
    const text = result ?? [content, ...toolCalls.map(callText)].filter((part) => part !== '').join('\n')
    const last = written.at(-1)
    // Some templates want users and assistants to take turns: results are one turn.
    if (result !== null && last?.role === 'user')
      written[written.length - 1] = { role: 'user', content: `${last.content}\n${text}` }
    else written.push({ role: result === null ? role : 'user', content: text })
  }
  if (tools.length === 0) return { messages: written, tools: [] }
  const [first, ...rest] = written
  const system = first?.role === 'system' ? `${first.content}\n\n${instructions(tools)}` : instructions(tools)
  return {
    messages: [{ role: 'system', content: system }, ...(first?.role === 'system' ? rest : written)],
    tools: [],
  }
}

export const templateInput = (
  messages: readonly ChatMessage[],
  tools: readonly Tool[],
  { native, shortIds }: TemplateTools,
): TemplateInput => (native ? nativeInput(messages, tools, shortIds) : writtenInput(messages, tools))

/** For templates that want users and assistants to take turns: texts of one role behind each other are one. */
export const joinTurns = (messages: readonly TemplateMessage[]): readonly TemplateMessage[] => {
  const joined: TemplateMessage[] = []
  for (const message of messages) {
    const last = joined.at(-1)
    const isText = message.role !== 'tool' && message.tool_calls === undefined && last?.tool_calls === undefined
    if (last?.role === message.role && isText)
      joined[joined.length - 1] = { ...last, content: `${last.content}\n\n${message.content}` }
    else joined.push(message)
  }
  return joined
}
