import { createHash } from 'node:crypto'
import { Template } from '@huggingface/jinja'
import { errorMessage } from '../../../domain/error-message.ts'
import { InferenceError } from '../../errors.ts'
import { HERMES, type TemplateTools, templateTools } from '../../structured-output/tool-syntax.ts'
import { type ChatMessage, type Tool, type ToolCall, withOwnReasoning } from '../engine.ts'
import { endsInReasoning, withoutReasoning } from './reasoning.ts'

/** The input of a chat template in Hugging Face's format. */
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

/** Returns nine letters and digits that depend only on the id. */
const shortId = (id: string): string => createHash('sha256').update(id).digest('hex').slice(0, 9)

/** For templates that support functions: the fields that Hugging Face documents. */
const nativeInput = (messages: readonly ChatMessage[], tools: readonly Tool[], shortIds: boolean): TemplateInput => {
  const idOf = (id: string): string => (shortIds ? shortId(id) : id)
  const names = new Map(messages.flatMap(({ toolCalls = [] }) => toolCalls.map(({ id, name }) => [id, name] as const)))
  return {
    tools: tools.map(presentTool),
    messages: withOwnReasoning(messages).map(({ role, content, name, reasoning, toolCalls = [], toolCallId }) => ({
      role,
      content,
      ...(name !== undefined && { name }),
      ...(reasoning !== undefined && { reasoning_content: reasoning }),
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

/** Instructions for models with a template that does not support functions. They are also in docs/inference.md. */
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

/** For other templates: everything becomes text in messages of the roles that every template supports. */
const writtenInput = (messages: readonly ChatMessage[], tools: readonly Tool[]): TemplateInput => {
  const written: TemplateMessage[] = []
  for (const { role, content, name, toolCalls = [] } of messages) {
    const result = role === 'tool' ? `<tool_response>\n${content}\n</tool_response>` : null
    const text = result ?? [content, ...toolCalls.map(callText)].filter((part) => part !== '').join('\n')
    const last = written.at(-1)
    // Some templates require users and assistants to alternate, so consecutive results become one turn.
    if (result !== null && last?.role === 'user')
      written[written.length - 1] = { role: 'user', content: `${last.content}\n${text}` }
    else written.push({ role: result === null ? role : 'user', content: text, ...(name !== undefined && { name }) })
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

/** For templates that require users and assistants to alternate: joins consecutive texts of the same role. */
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

/** For templates that take only one system message, at the beginning: joins all of them there. */
const withSystemFirst = (messages: readonly TemplateMessage[]): readonly TemplateMessage[] => {
  const systems = messages.filter(({ role }) => role === 'system')
  const isFirst = systems.length === 1 && messages[0] === systems[0]
  if (systems.length === 0 || isFirst) return messages
  const content = systems.map((message) => message.content).join('\n\n')
  return [{ role: 'system', content }, ...messages.filter(({ role }) => role !== 'system')]
}

/** Most chat models without a template were trained on this one. */
const CHATML = `{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}`

/** The model's properties that determine a prompt. */
interface PromptModel {
  /** If null or empty, the template that most models without one know. */
  readonly chatTemplate: string | null
  readonly bosToken: string
  readonly eosToken: string
  /** Words that become one token with a special meaning, which templates may write and users may not. */
  readonly controlWords: readonly string[]
  /** With `special`, control words in the text become control tokens. Adds no token before the text. */
  tokenize(text: string, special: boolean): Uint32Array
  /** The token before every prompt; null if the template writes it, or the model needs none. */
  readonly firstToken: number | null
}

/** Returns the first private-use character that occurs in none of the texts. */
const unusedCharacter = (texts: string): string => {
  for (let code = 0xe000; code < 0xf8ff; code++) {
    const character = String.fromCharCode(code)
    if (!texts.includes(character)) return character
  }
  throw new InferenceError('invalid_request', 'The messages use every private character that Unicode has.', {
    param: 'messages',
  })
}

/** Applies `change` to every string inside a value. */
const mapTexts = (value: unknown, change: (text: string) => string): unknown => {
  if (typeof value === 'string') return change(value)
  if (Array.isArray(value)) return value.map((one) => mapTexts(one, change))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [change(name), mapTexts(one, change)]))
}

export interface Prompt {
  readonly tokens: Uint32Array
  /** Whether it ends within the model's reasoning. */
  readonly beginsReasoning: boolean
}

/**
 * Tokenizes a chat with the model's own template, in which users cannot write control tokens. With `reasoning` false, a model
 * that reasons is to answer at once; with true, one that does so only on request is to reason.
 */
export type PromptWriter = (messages: readonly ChatMessage[], tools?: readonly Tool[], reasoning?: boolean) => Prompt

export const createPromptWriter = (model: PromptModel): PromptWriter => {
  let template: Template
  try {
    template = new Template(model.chatTemplate?.trim() ? model.chatTemplate : CHATML)
  } catch (error) {
    throw new InferenceError('invalid_model', `The model's chat template cannot be read: ${String(error)}`)
  }
  const escaped = model.controlWords.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  const controlWord = escaped.length === 0 ? null : new RegExp(`(?=${escaped.join('|')})(.)`, 'gsu')
  const style = templateTools(model.chatTemplate)

  const render = ({ messages, tools }: TemplateInput, reasoning: boolean | undefined): string =>
    template.render({
      messages,
      ...(tools.length > 0 && { tools }),
      ...(reasoning !== undefined && { enable_thinking: reasoning }),
      add_generation_prompt: true,
      bos_token: model.bosToken,
      eos_token: model.eosToken,
    })

  const renderOrExplain = (input: TemplateInput, reasoning: boolean | undefined): string => {
    try {
      return render(input, reasoning)
    } catch (error) {
      const gathered = withSystemFirst(input.messages)
      if (gathered !== input.messages) return renderOrExplain({ ...input, messages: gathered }, reasoning)
      const joined = joinTurns(input.messages)
      if (joined.length < input.messages.length) return renderOrExplain({ ...input, messages: joined }, reasoning)
      const [first, second, ...rest] = input.messages
      // Some templates do not support system messages. Their text is then prepended to the user's first message.
      if (first?.role === 'system' && second?.role === 'user') {
        const merged = { role: 'user', content: `${first.content}\n\n${second.content}` }
        return renderOrExplain({ ...input, messages: [merged, ...rest] }, reasoning)
      }
      const reason = errorMessage(error)
      throw new InferenceError('invalid_request', `The model's chat template does not take these messages: ${reason}`, {
        param: 'messages',
      })
    }
  }

  return (messages, tools = [], reasoning = undefined) => {
    const input = templateInput(messages, tools, style)
    const breaker = unusedCharacter(JSON.stringify(input))
    // Splits control words in user text in two, so that they are read as plain letters.
    const harmless = (text: string): string => (controlWord === null ? text : text.replace(controlWord, `$1${breaker}`))
    const rendered = renderOrExplain(mapTexts(input, harmless) as TemplateInput, reasoning)
    const prompt = reasoning === false ? withoutReasoning(rendered) : rendered
    const tokens = prompt.split(breaker).flatMap((piece) => [...model.tokenize(piece, true)])
    if (model.firstToken !== null && tokens[0] !== model.firstToken) tokens.unshift(model.firstToken)
    return { tokens: Uint32Array.from(tokens), beginsReasoning: endsInReasoning(prompt) }
  }
}
