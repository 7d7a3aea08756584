import { type Query, useQueryClient } from '@tanstack/react-query'
import { createContext, type ReactNode, useContext, useEffect, useState } from 'react'
import { checkSession, refetchPages } from '../api/client.ts'
import { sessionLock } from '../api/session-lock.ts'
import { type Change, isAffected, parseChange } from './changes.ts'
import { createRefetch, isPolled } from './refetch.ts'
import { shareStream } from './shared.ts'
import type { Mode } from './stream-state.ts'

const LiveMode = createContext<Mode>('connecting')

/** Returns how the page currently receives changes. */
export const useLiveMode = (): Mode => useContext(LiveMode)

/** Combines bursts of events, such as a round's updates, into one refetch. */
const COALESCE_MS = 250

/** Keeps all data in view up to date while mounted. */
export const Live = ({ children }: { readonly children: ReactNode }) => {
  const client = useQueryClient()
  const [mode, setMode] = useState<Mode>('connecting')
  const [pollMs, setPollMs] = useState<number | null>(null)
  // The service refuses the stream until the user has confirmed their identity or signed in again.
  const isLocked = sessionLock.use()?.isRequested === false

  useEffect(() => {
    if (isLocked) return
    const controller = new AbortController()
    let changes: Change[] = []
    let timer: ReturnType<typeof setTimeout> | undefined
    const refetch = createRefetch(client)
    let checked: Promise<void> = Promise.resolve()
    const flush = (): void => {
      timer = undefined
      const seen = changes
      changes = []
      const predicate = ({ queryKey }: Query) => isAffected(String(queryKey[0]), seen)
      for (const query of client.getQueryCache().findAll({ predicate })) void refetch(query)
    }
    shareStream(
      setMode,
      (effect) => {
        if (effect.kind === 'refetch') void checked.then(refetchPages)
        else if (effect.kind === 'check-session') checked = checkSession()
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
  }, [client, isLocked])

  useEffect(() => {
    if (mode !== 'polling' || pollMs === null) return
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible')
        void client.invalidateQueries({ predicate: isPolled }, { cancelRefetch: false })
    }, pollMs)
    return () => clearInterval(timer)
  }, [client, mode, pollMs])

  return <LiveMode.Provider value={mode}>{children}</LiveMode.Provider>
}
