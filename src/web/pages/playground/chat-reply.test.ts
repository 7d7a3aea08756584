import { describe, expect, it } from 'vitest'
import { afterEvent, NEW_REPLY, type Reply, speedOf } from './chat-reply.ts'

const events = (...pieces: readonly (readonly [type: string, data: unknown, ms: number])[]): Reply =>
  pieces.reduce(
    (reply, [type, data, ms]) =>
      afterEvent(reply, { id: '', type, data: typeof data === 'string' ? data : JSON.stringify(data) }, ms),
    NEW_REPLY,
  )

const text = (content: string) => ({ choices: [{ delta: { content }, finish_reason: null }] })

describe('a streamed reply', () => {
  it("combines its pieces, with the time of the first one and the server's counts", () => {
    expect(
      events(
        ['message', { choices: [{ delta: { role: 'assistant', content: '' } }] }, 20],
        ['message', text('Par'), 80],
        ['message', text('is.'), 130],
        ['message', { choices: [{ delta: {}, finish_reason: 'stop' }] }, 131],
        [
          'message',
          {
            choices: [],
            usage: { prompt_tokens: 9, completion_tokens: 3, prompt_tokens_details: { cached_tokens: 4 } },
          },
          132,
        ],
        ['message', '[DONE]', 132],
        ['trailers', { 'x-service-speculative': 'true' }, 133],
      ),
    ).toEqual({
      ...NEW_REPLY,
      text: 'Paris.',
      firstMs: 80,
      pieces: 2,
      promptTokens: 9,
      cachedTokens: 4,
      completionTokens: 3,
      finish: 'stop',
      notes: { 'x-service-speculative': 'true' },
    })
  })

  it('keeps reasoning apart from the text, and measures from it', () => {
    const thought = (reasoning_content: string) => ({ choices: [{ delta: { reasoning_content } }] })
    expect(
      events(['message', thought('Fra'), 40], ['message', thought('nce?'), 60], ['message', text('Paris.'), 80]),
    ).toMatchObject({ text: 'Paris.', reasoning: 'France?', firstMs: 40, pieces: 3 })
  })

  it('keeps the text received before an error', () => {
    expect(events(['message', text('Par'), 5], ['message', { error: { message: 'out of memory' } }, 9])).toMatchObject({
      state: 'failed',
      text: 'Par',
      error: 'out of memory',
    })
  })

  it('computes the speed between the first and the last token', () => {
    expect(speedOf({ ...NEW_REPLY, firstMs: 100, endMs: 1100, completionTokens: 51 })).toBe(50)
    expect(speedOf({ ...NEW_REPLY, firstMs: 100, endMs: 101, completionTokens: 50 })).toBeCloseTo(495, 0)
    expect(speedOf({ ...NEW_REPLY, firstMs: 100, endMs: 1100, completionTokens: 1 })).toBe(null)
    expect(speedOf(NEW_REPLY)).toBe(null)
  })
})
