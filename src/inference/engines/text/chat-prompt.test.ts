import { expect, it } from 'vitest'
import { templateTools } from '../../structured-output/tool-syntax.ts'
import type { ChatMessage, Tool } from '../engine.ts'
import { joinTurns, templateInput } from './chat-prompt.ts'

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
