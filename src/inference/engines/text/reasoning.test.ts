import { describe, expect, it } from 'vitest'
import { createPromptWriter } from './chat-prompt.ts'
import { createReasoningReader, type ReplyPart } from './reasoning.ts'

/** Reads a reply in pieces of this many characters; returns its reasoning and its text. */
const read = (reply: string, size: number, begun: boolean, call: string | null = null): readonly [string, string] => {
  const reader = createReasoningReader(begun, call)
  const parts: ReplyPart[] = []
  for (let at = 0; at < reply.length; at += size) parts.push(...reader.push(reply.slice(at, at + size)))
  parts.push(...reader.end())
  const of = (type: string): string => parts.flatMap((part) => (part.type === type ? [part.text] : [])).join('')
  return [of('reasoning'), of('text')]
}

describe('reasoning in a reply', () => {
  it.each<[name: string, reply: string, begun: boolean, reasoning: string, text: string]>([
    ['is what is between the marks', '<think>\nFour is 2 + 2.\n</think>\n\nFour.', false, 'Four is 2 + 2.', 'Four.'],
    ['begins in the prompt', '\nFour is 2 + 2.\n\n</think>\n\nFour.\n', true, 'Four is 2 + 2.', 'Four.\n'],
    ['may be empty', '<think>\n\n</think>\n\nFour.', false, '', 'Four.'],
    ['may be cut off', '<think>Four is </thin', false, 'Four is </thin', ''],
    [
      'may contain signs of every kind',
      '<think>a < b <think> </ think></think>c',
      false,
      'a < b <think> </ think>',
      'c',
    ],
    ['is only at the beginning', 'Four <think>is</think> 4', false, '', 'Four <think>is</think> 4'],
    ['is not what only begins like it', ' <thing>', false, '', ' <thing>'],
    ['is not the beginning of its mark', '<thi', false, '', '<thi'],
    ['ends once', '<think>a</think>b</think>c', false, 'a', 'b</think>c'],
  ])('%s', (_, reply, begun, reasoning, text) => {
    for (let size = 1; size <= reply.length; size++) expect(read(reply, size, begun)).toEqual([reasoning, text])
  })

  it('ends where a function call begins, which stays in the text', () => {
    const reply = '<think>I call it.\n<tool_call>{"name": "now"}'
    for (let size = 1; size <= reply.length; size++)
      expect(read(reply, size, false, '<tool_call>')).toEqual(['I call it.', '<tool_call>{"name": "now"}'])
  })
})

describe('a prompt', () => {
  const written = (end: string, reasoning: boolean) => {
    let text = ''
    const write = createPromptWriter({
      chatTemplate: `{% for message in messages %}{{ message.content }}{% endfor %}${end}`,
      bosToken: '',
      eosToken: '',
      controlWords: [],
      firstToken: null,
      tokenize: (piece) => {
        text += piece
        return new Uint32Array()
      },
    })
    return [write([{ role: 'user', content: 'Hi' }], [], reasoning).beginsReasoning, text]
  }

  it('begins the reasoning if its template does', () => {
    expect(written(':', true)).toEqual([false, 'Hi:'])
    expect(written(':<think>', true)).toEqual([true, 'Hi:<think>'])
  })

  it('leaves it out as the template does, or ends it at once', () => {
    const choice =
      "{% if enable_thinking is defined and not enable_thinking %}<think></think>{% else %}{{ '' }}{% endif %}"
    expect(written(choice, false)).toEqual([false, 'Hi<think></think>'])
    expect(written(choice, true)).toEqual([false, 'Hi'])
    expect(written(':<think>\n', false)).toEqual([false, 'Hi:<think>\n\n</think>\n\n'])
  })
})
