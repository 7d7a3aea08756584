import { useQueryClient } from '@tanstack/react-query'
import { createContext, type ReactNode, useContext, useEffect, useState } from 'react'
import { checkSession, SESSION_PATH } from '../api/client.ts'
import { type Change, isAffected, parseChange } from './changes.ts'
import { shareStream } from './shared.ts'
import type { Mode } from './stream-state.ts'

const LiveMode = createContext<Mode>('connecting')

/** How the page learns of changes at the moment. */
export const useLiveMode = (): Mode => useContext(LiveMode)

/** Many events in a moment, as a round's updates are, ask for an answer once. */
const COALESCE_MS = 250

/** Keeps every answer in view up to date, as long as it is there. */
export const Live = ({ children }: { readonly children: ReactNode }) => {
  const client = useQueryClient()
  const [mode, setMode] = useState<Mode>('connecting')
  const [pollMs, setPollMs] = useState<number | null>(null)

  useEffect(() => {
    const controller = new AbortController()
    let changes: Change[] = []
    let timer: ReturnType<typeof setTimeout> | undefined
    const refetchAll = (): void =>
      void client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== SESSION_PATH })
    const flush = (): void => {
      timer = undefined
      const seen = changes
      changes = []
      void client.invalidateQueries({ predicate: ({ queryKey }) => isAffected(String(queryKey[0]), seen) })
    }
    shareStream(
      setMode,
      (effect) => {
        if (effect.kind === 'refetch') refetchAll()
        else if (effect.kind === 'check-session') void checkSession()
        else if (effect.kind === 'poll') setPollMs(effect.everyMs)
        else {
          const change = parseChange(effect.event.type, effect.event.data)
          if (change === null) return
          changes.push(change)
          timer ??= setTimeout(flush, COALESCE_MS)
        }
      },
      controller.signal,
    )
    return () => {
      clearTimeout(timer)
      controller.abort()
    }
  }, [client])

  useEffect(() => {
    if (mode !== 'polling' || pollMs === null) return
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') {
        void client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== SESSION_PATH })
      }
    }, pollMs)
    return () => clearInterval(timer)
  }, [client, mode, pollMs])

  return <LiveMode.Provider value={mode}>{children}</LiveMode.Provider>
}
