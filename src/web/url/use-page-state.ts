import { useCallback, useMemo } from 'react'
import { useLocation, useSearch } from 'wouter'
import { decodeState, encodeState, type PageState } from './page-state.ts'

/** The state of a page, kept in its address. `defaults` must be a constant. A change replaces the address: Back leaves the page. */
export const usePageState = <State extends PageState>(
  defaults: State,
): readonly [State, (change: Partial<State>) => void] => {
  const search = useSearch()
  const [path, navigate] = useLocation()
  const state = useMemo(() => decodeState(search, defaults), [search, defaults])
  const change = useCallback(
    (changed: Partial<State>) => {
      const query = encodeState({ ...state, ...changed }, defaults)
      navigate(query === '' ? path : `${path}?${query}`, { replace: true })
    },
    [state, defaults, path, navigate],
  )
  return [state, change]
}
