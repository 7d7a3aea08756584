import { describe, expect, it } from 'vitest'
import type { ChatMessage } from '../engine.ts'
import { createPromptWriter } from './chat-prompt.ts'
import { createReasoningReader, showMarks, type TextPart } from './reasoning.ts'

/** Reads a reply in pieces of this many characters; returns its reasoning and its text. */
const read = (reply: string, size: number, begun: boolean, call: string | null = null): readonly [string, string] => {
  const reader = createReasoningReader(begun, call)
  const parts: TextPart[] = []
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

it.each([true, false])('the marks are shown, also if the vocabulary calls them special: %s', (special) => {
  const words = ['a', '<think>', '</think>', '<|end|>']
  const hidden = special ? [1, 2, 3] : [3]
  const show = showMarks(
    (text) => [words.indexOf(text)],
    (tokens, all) => tokens.map((token) => (all || !hidden.includes(token) ? words[token] : '')).join(''),
  )
  expect([show([1, 0, 2]), show([0, 3])]).toEqual(['<think>a</think>', 'a'])
  const unknown = (): number[] => [3]
  expect(showMarks(unknown, (tokens, all) => (all ? '<unk>'.repeat(tokens.length) : ''))([3])).toBe('')
})

describe('a prompt', () => {
  const HI = { role: 'user', content: 'Hi' } as const
  const written = (end: string, reasoning?: boolean, messages: readonly ChatMessage[] = [HI]) => {
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
    return [write(messages, [], reasoning).beginsReasoning, text]
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

  it('begins the reasoning of a model that does so only on request', () => {
    const choice = '{% if enable_thinking %}<think>{% endif %}'
    expect([written(choice), written(choice, true)]).toEqual([
      [false, 'Hi'],
      [true, 'Hi<think>'],
    ])
  })

  it('has the reasoning of the turn that is not over, and not that of earlier ones', () => {
    const thought = (reasoning: string): ChatMessage => ({ role: 'assistant', content: '.', reasoning })
    const called = { ...thought('now'), toolCalls: [{ id: 'a', name: 'f', arguments: {} }] }
    const shown = '{% for message in messages %}({{ message.reasoning_content }}){% endfor %}{# tools <tool_call> #}'
    const messages: ChatMessage[] = [HI, thought('before'), HI, called, { role: 'tool', content: '1', toolCallId: 'a' }]
    expect(written(shown, undefined, messages)[1]).toMatch(/\(\)\(\)\(\)\(now\)\(\)$/)
  })
})
