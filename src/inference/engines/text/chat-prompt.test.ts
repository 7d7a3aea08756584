import { expect, it } from 'vitest'
import { templateTools } from '../../structured-output/tool-syntax.ts'
import type { ChatMessage, Tool } from '../engine.ts'
import { createPromptWriter, joinTurns, templateInput } from './chat-prompt.ts'

const tool: Tool = { name: 'now', description: 'Tells the time.', parameters: { type: 'object' }, strict: false }
const messages: readonly ChatMessage[] = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'What time is it?' },
  { role: 'assistant', content: '', toolCalls: [{ id: 'call_1', name: 'now', arguments: { zone: 'UTC' } }] },
  { role: 'tool', content: '12:00', toolCallId: 'call_1' },
  { role: 'tool', content: '12:01', toolCallId: 'call_1' },
]

it('templates that support functions get them in their own fields, with ids in their format', () => {
  const { messages: given, tools } = templateInput(messages, [tool], templateTools('tools [TOOL_CALLS]'))
  const { name, description, parameters } = tool
  expect(tools).toEqual([{ type: 'function', function: { name, description, parameters } }])
  const id = expect.stringMatching(/^[0-9a-f]{9}$/)
  const calls = [{ id, type: 'function', function: { name: 'now', arguments: { zone: 'UTC' } } }]
  expect(given.slice(2, 4)).toEqual([
    { role: 'assistant', content: '', tool_calls: calls },
    { role: 'tool', content: '12:00', tool_call_id: id, name: 'now' },
  ])
})

it('for other templates, functions, calls, and results are texts in alternating turns', () => {
  const { messages: given, tools } = templateInput(messages, [tool], templateTools(null))
  expect(tools).toEqual([])
  expect(given[0]!.content).toMatch(
    /^Be brief\.\n\nYou may call these functions\.[\s\S]*"name":"now"[\s\S]*<\/tool_call>$/,
  )
  expect(given.slice(1)).toEqual([
    { role: 'user', content: 'What time is it?' },
    { role: 'assistant', content: '<tool_call>\n{"name": "now", "arguments": {"zone":"UTC"}}\n</tool_call>' },
    {
      role: 'user',
      content: '<tool_response>\n12:00\n</tool_response>\n<tool_response>\n12:01\n</tool_response>',
    },
  ])
})

it('every template gets the names of participants', () => {
  const named: readonly ChatMessage[] = [{ role: 'user', name: 'Ann', content: 'Hi' }]
  for (const template of ['tools [TOOL_CALLS]', null])
    expect(templateInput(named, [], templateTools(template)).messages).toEqual(named)
})

it('consecutive texts of the same role are joined; calls and results are not', () => {
  const call = { role: 'assistant', content: '', tool_calls: [] }
  const result = { role: 'tool', content: '1' }
  const turns = [{ role: 'user', content: 'a' }, { role: 'user', content: 'b' }, call, call, result, result]
  expect(joinTurns(turns)).toEqual([{ role: 'user', content: 'a\n\nb' }, call, call, result, result])
})

it('system messages stay where they are, except for templates that take only one, at the beginning', () => {
  const promptOf = (template: string, roles: string): string => {
    const write = createPromptWriter({
      chatTemplate: `{% for message in messages %}${template}{{ message.role[0] + '(' + message.content + ')' }}{% endfor %}`,
      bosToken: '',
      eosToken: '',
      controlWords: [],
      tokenize: (text) => Uint32Array.from(text, (character) => character.codePointAt(0)!),
      firstToken: null,
    })
    const names = { s: 'system', u: 'user', a: 'assistant' } as const
    const given = [...roles].map((letter, index) => ({ role: names[letter as 's'], content: `${index}` }))
    return String.fromCodePoint(...write(given).tokens)
  }
  const first = "{% if message.role == 'system' and not loop.first %}{{ raise_exception('System first.') }}{% endif %}"
  const none = "{% if message.role == 'system' %}{{ raise_exception('No system.') }}{% endif %}"
  expect(promptOf('', 'suasu')).toBe('s(0)u(1)a(2)s(3)u(4)')
  expect(promptOf(first, 'suasu')).toBe('s(0\n\n3)u(1)a(2)u(4)')
  expect(promptOf(first, 'uasu')).toBe('s(2)u(0)a(1)u(3)')
  expect(promptOf(first, 'ssu')).toBe('s(0\n\n1)u(2)')
  expect(promptOf(none, 'uasu')).toBe('u(2\n\n0)a(1)u(3)')
})
