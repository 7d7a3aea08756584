import { type ReactNode, useCallback, useLayoutEffect, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { type Session, signOut } from '../api/session.ts'
import { useLiveMode } from '../live/live.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { useKeyboard } from './keyboard.ts'
import type { PageEntry } from './page-entry.ts'
import styles from './shell.module.css'

const MODES = {
  connecting: 'Connecting',
  live: 'Live',
  polling: 'Refreshes every 5 s',
  offline: 'Cannot reach the service, retrying',
} as const

const Mark = () => (
  <svg width="22" height="22" viewBox="0 0 32 32" aria-hidden="true">
    <rect width="32" height="32" rx="7" style={{ fill: 'var(--accent)' }} />
    <path
      d="M7 7c0 7 9 6 9 13v6M25 7c0 7-9 6-9 13M16 6v8"
      style={{ fill: 'none', stroke: 'var(--accent-text)', strokeWidth: 2.6, strokeLinecap: 'round' }}
    />
  </svg>
)

const isWithin = (location: string, path: string): boolean =>
  path === '/' ? location === '/' : location === path || location.startsWith(`${path}/`)

const SignOut = () => {
  const [failure, setFailure] = useState<Error | null>(null)
  const onClick = (): void => {
    setFailure(null)
    signOut().catch(setFailure)
  }
  return (
    <>
      <button type="button" onClick={onClick}>
        Sign out
      </button>
      {failure && <span role="alert">Still signed in: {failure.message}</span>}
    </>
  )
}

const Foot = ({ session, onHelp }: { readonly session: Session; readonly onHelp: () => void }) => {
  const mode = useLiveMode()
  return (
    <div className={styles.foot}>
      <span className={styles.live} data-mode={mode} role="status">
        {MODES[mode]}
      </span>
      {(session.person ?? session.key_name) !== null && (
        <span>
          {session.person?.email ?? session.key_name}
          {session.org_id !== null && ` · ${session.org_id}`}
        </span>
      )}
      <span>Version {session.version}</span>
      <button type="button" onClick={onHelp}>
        Keyboard
      </button>
      {session.enrollment === 'token' && <SignOut />}
    </div>
  )
}

const Keys = ({ pages }: { readonly pages: readonly PageEntry[] }) => {
  const keys: readonly (readonly [string, string])[] = [
    ['/', 'Search'],
    ...pages.map(({ key, name }) => [`g ${key}`, `Go to ${name}`] as const),
    ['?', 'This list'],
    ['Esc', 'Close, or leave a field'],
  ]
  return (
    <dl className={styles.keys}>
      {keys.map(([key, does]) => (
        <div key={key} style={{ display: 'contents' }}>
          <dt>
            <kbd>{key}</kbd>
          </dt>
          <dd>{does}</dd>
        </div>
      ))}
    </dl>
  )
}

interface ShellProps {
  readonly session: Session
  readonly pages: readonly PageEntry[]
  /** Called for a page whose link is pointed at or has the focus. */
  readonly expect: (page: PageEntry) => void
  readonly children: ReactNode
}

/** The frame of every page: navigation, live status, the signed-in user, and keyboard shortcuts. */
export const Shell = ({ session, pages, expect, children }: ShellProps) => {
  const [location, navigate] = useLocation()
  const [help, setHelp] = useState(false)
  const go = useCallback(
    (key: string): boolean => {
      const page = pages.find((entry) => entry.key === key)
      if (page !== undefined) navigate(page.path)
      return page !== undefined
    },
    [pages, navigate],
  )
  const showHelp = useCallback(() => setHelp(true), [])
  useKeyboard(go, showHelp)
  // biome-ignore lint/correctness/useExhaustiveDependencies: another page closes it, like all dialogs
  useLayoutEffect(() => () => setHelp(false), [location])
  return (
    <div className={styles.shell}>
      <a className={styles.skip} href="#main">
        Skip to content
      </a>
      <header className={styles.side}>
        <Link href="/" className={styles.brand}>
          <Mark />
          Tributary
        </Link>
        <nav className={styles.nav} aria-label="Areas">
          {pages.map((page) => (
            <Link
              key={page.path}
              href={page.path}
              aria-current={isWithin(location, page.path) ? 'page' : undefined}
              onPointerEnter={() => expect(page)}
              onFocus={() => expect(page)}
            >
              {page.name}
            </Link>
          ))}
        </nav>
        <Foot session={session} onHelp={showHelp} />
      </header>
      <main id="main" className={styles.main} tabIndex={-1}>
        {children}
      </main>
      {help && (
        <Dialog title="Keyboard" onClose={() => setHelp(false)}>
          <Keys pages={pages} />
        </Dialog>
      )}
    </div>
  )
}
