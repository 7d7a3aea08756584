import { describe, expect, it } from 'vitest'
import { decodeState, encodeState } from './page-state.ts'

const defaults = { q: '', page: 1, live: false, jobs: [] as readonly string[], tags: ['a'] as readonly string[] }

describe('the state of a page in its address', () => {
  it('survives a round trip, regardless of its content', () => {
    for (const state of [
      defaults,
      { q: 'a&b=c #ü%', page: -2.5, live: true, jobs: ['x', 'y,z'], tags: ['b'] },
      { ...defaults, tags: [] },
      { ...defaults, q: 'true', jobs: ['1'] },
    ]) {
      expect(decodeState(encodeState(state, defaults), defaults)).toEqual(state)
    }
  })

  it('is empty for the defaults, and has a fixed order', () => {
    expect(encodeState(defaults, defaults)).toBe('')
    expect(encodeState({ ...defaults, live: true, q: 'x' }, defaults)).toBe('q=x&live=true')
  })

  it('ignores unknown names and invalid values', () => {
    expect(decodeState('page=NaN&live=maybe&other=1', defaults)).toEqual(defaults)
    const words = {
      q: [
        ['', 'Any'],
        ['red', 'Red'],
      ],
    } as const
    expect(['q=red', 'q=blue', 'q=constructor'].map((query) => decodeState(query, defaults, words).q)).toEqual([
      'red',
      '',
      '',
    ])
    expect(decodeState('page=&live=false&page=7', { ...defaults, live: true })).toEqual({ ...defaults, live: false })
  })
})
