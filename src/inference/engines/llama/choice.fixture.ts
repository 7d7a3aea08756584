import { plainReply } from '../text/reasoning.ts'
import { anyText, type Choice } from './choice.ts'

/** A choice that has begun, of a request without limits; each field can be replaced. */
export const choiceWith = (fields: Partial<Choice>): Choice => ({
  id: 1,
  promptTokens: 1,
  tokens: [0],
  limit: 1000,
  request: {
    messages: [],
    maxTokens: null,
    temperature: 0,
    topP: 1,
    seed: 1,
    stop: [],
    responseFormat: { type: 'text' },
  },
  sampler: { next: async () => 0, dispose: () => undefined },
  text: { push: () => ({ text: '', stopped: null, read: '' }), end: () => ({ text: '', stopped: null }) },
  reply: plainReply,
  closing: anyText,
  filled: 0,
  cachedTokens: 0,
  drafts: [],
  speculation: null,
  reasoningTokens: 0,
  started: true,
  over: false,
  ...fields,
})
