import { Template } from '@huggingface/jinja'
import { InferenceError } from '../../errors.ts'
import { templateTools } from '../../structured-output/tool-syntax.ts'
import type { ChatMessage, Tool } from '../engine.ts'
import type { LlamaModel } from './binding/load-model.ts'
import { joinTurns, type TemplateInput, templateInput } from './template-input.ts'

/** Most chat models without a template of their own were trained on this one. */
const CHATML = `{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}`

type PromptModel = Pick<
  LlamaModel,
  'chatTemplate' | 'bosToken' | 'eosToken' | 'controlWords' | 'tokenize' | 'firstToken'
>

/** The first character of the private use area that occurs in none of the texts. */
const unusedCharacter = (texts: string): string => {
  for (let code = 0xe000; code < 0xf8ff; code++) {
    const character = String.fromCharCode(code)
    if (!texts.includes(character)) return character
  }
  throw new InferenceError('invalid_request', 'The messages use every private character that Unicode has.', {
    param: 'messages',
  })
}

/** Every text inside a value, changed. */
const mapTexts = (value: unknown, change: (text: string) => string): unknown => {
  if (typeof value === 'string') return change(value)
  if (Array.isArray(value)) return value.map((one) => mapTexts(one, change))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [change(name), mapTexts(one, change)]))
}

/** Makes the tokens of a chat's prompt: the model's own template, in which a user cannot write control tokens. */
export type PromptWriter = (messages: readonly ChatMessage[], tools?: readonly Tool[]) => Uint32Array

export const createPromptWriter = (model: PromptModel): PromptWriter => {
  let template: Template
  try {
    template = new Template(model.chatTemplate ?? CHATML)
  } catch (error) {
    throw new InferenceError('invalid_model', `The model's chat template cannot be read: ${String(error)}`)
  }
  const escaped = model.controlWords.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  const controlWord = escaped.length === 0 ? null : new RegExp(`(?=${escaped.join('|')})(.)`, 'gsu')
  const style = templateTools(model.chatTemplate)

  const render = ({ messages, tools }: TemplateInput): string =>
    template.render({
      messages,
      ...(tools.length > 0 && { tools }),
      add_generation_prompt: true,
      bos_token: model.bosToken,
      eos_token: model.eosToken,
    })

  const renderOrExplain = (input: TemplateInput): string => {
    try {
      return render(input)
    } catch (error) {
      const joined = joinTurns(input.messages)
      if (joined.length < input.messages.length) return renderOrExplain({ ...input, messages: joined })
      const [first, second, ...rest] = input.messages
      // Some templates know no system message: what it says then goes before what the user says.
      if (first?.role === 'system' && second?.role === 'user') {
        const merged = { role: 'user', content: `${first.content}\n\n${second.content}` }
        return renderOrExplain({ ...input, messages: [merged, ...rest] })
      }
      const reason = error instanceof Error ? error.message : String(error)
      throw new InferenceError('invalid_request', `The model's chat template does not take these messages: ${reason}`, {
        param: 'messages',
      })
    }
  }

  return (messages, tools = []) => {
    const input = templateInput(messages, tools, style)
    const breaker = unusedCharacter(JSON.stringify(input))
    // Control words in what people wrote are cut in two, so that they are read as the letters they are.
    const harmless = (text: string): string => (controlWord === null ? text : text.replace(controlWord, `$1${breaker}`))
    const pieces = renderOrExplain(mapTexts(input, harmless) as TemplateInput).split(breaker)
    const tokens = pieces.flatMap((piece) => [...model.tokenize(piece, true)])
    if (model.firstToken !== null && tokens[0] !== model.firstToken) tokens.unshift(model.firstToken)
    return Uint32Array.from(tokens)
  }
}
