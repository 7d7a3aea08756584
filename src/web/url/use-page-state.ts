import { useCallback, useMemo } from 'react'
import { useLocation, useSearch } from 'wouter'
import { decodeState, encodeState, type PageState, type PageWords } from './page-state.ts'

/**
 * A page's state, stored in its address. `defaults` and `words` must be constants. A change replaces the address, so Back
 * leaves the page.
 */
export const usePageState = <State extends PageState>(
  defaults: State,
  words?: PageWords<State>,
): readonly [State, (change: Partial<State>) => void] => {
  const search = useSearch()
  const [path, navigate] = useLocation()
  const state = useMemo(() => decodeState(search, defaults, words), [search, defaults, words])
  const change = useCallback(
    (changed: Partial<State>) => {
      const query = encodeState({ ...state, ...changed }, defaults)
      navigate(query === '' ? path : `${path}?${query}`, { replace: true })
    },
    [state, defaults, path, navigate],
  )
  return [state, change]
}
