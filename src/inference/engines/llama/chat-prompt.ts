import { Template } from '@huggingface/jinja'
import { InferenceError } from '../../errors.ts'
import type { ChatMessage } from '../engine.ts'
import type { LlamaModel } from './binding/load-model.ts'

/** Most chat models without a template of their own were trained on this one. */
const CHATML = `{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}`

type PromptModel = Pick<
  LlamaModel,
  'chatTemplate' | 'bosToken' | 'eosToken' | 'controlWords' | 'tokenize' | 'firstToken'
>

/** The first character of the private use area that occurs in none of the messages. */
const unusedCharacter = (messages: readonly ChatMessage[]): string => {
  for (let code = 0xe000; code < 0xf8ff; code++) {
    const character = String.fromCharCode(code)
    if (!messages.some((message) => message.content.includes(character))) return character
  }
  throw new InferenceError('invalid_request', 'The messages use every private character that Unicode has.', {
    param: 'messages',
  })
}

/** Makes the tokens of a chat's prompt: the model's own template, in which a user cannot write control tokens. */
export const createPromptWriter = (model: PromptModel): ((messages: readonly ChatMessage[]) => Uint32Array) => {
  let template: Template
  try {
    template = new Template(model.chatTemplate ?? CHATML)
  } catch (error) {
    throw new InferenceError('invalid_model', `The model's chat template cannot be read: ${String(error)}`)
  }
  const escaped = model.controlWords.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  const controlWord = escaped.length === 0 ? null : new RegExp(`(?=${escaped.join('|')})(.)`, 'gsu')

  const render = (messages: readonly ChatMessage[]): string =>
    template.render({
      messages: messages.map(({ role, content }) => ({ role, content })),
      add_generation_prompt: true,
      bos_token: model.bosToken,
      eos_token: model.eosToken,
    })

  const renderOrExplain = (messages: readonly ChatMessage[]): string => {
    try {
      return render(messages)
    } catch (error) {
      const [first, second, ...rest] = messages
      // Some templates know no system message: what it says then goes before what the user says.
      if (first?.role === 'system' && second?.role === 'user') {
        return renderOrExplain([{ role: 'user', content: `${first.content}\n\n${second.content}` }, ...rest])
      }
      const reason = error instanceof Error ? error.message : String(error)
      throw new InferenceError('invalid_request', `The model's chat template does not take these messages: ${reason}`, {
        param: 'messages',
      })
    }
  }

  return (messages) => {
    const breaker = unusedCharacter(messages)
    // Control words in what people wrote are cut in two, so that they are read as the letters they are.
    const harmless = messages.map(({ role, content }) => ({
      role,
      content: controlWord === null ? content : content.replace(controlWord, `$1${breaker}`),
    }))
    const pieces = renderOrExplain(harmless).split(breaker)
    const tokens = pieces.flatMap((piece) => [...model.tokenize(piece, true)])
    if (model.firstToken !== null && tokens[0] !== model.firstToken) tokens.unshift(model.firstToken)
    return Uint32Array.from(tokens)
  }
}
