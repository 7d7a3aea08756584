import { type ComponentProps, type ReactNode, useEffect, useRef, useState } from 'react'
import { Link } from 'wouter'
import { ApiError } from '../../client/client.ts'
import type { Scope } from '../../domain/access.ts'
import { useMay } from '../api/session.ts'
import { isGoingBack } from '../url/scroll-place.ts'
import { Command } from './cells.tsx'
import styles from './layout.module.css'
import { WarningText } from './warning-text.tsx'

/** The path of the first page, until another is visited: a newly loaded page is read from its beginning. */
let loadedAt: string | null = window.location.pathname

/** After navigation, if the followed link is gone, focuses the heading of the new page. */
const useArrival = () => {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    if (loadedAt === window.location.pathname) return
    loadedAt = null
    if (document.activeElement === null || document.activeElement === document.body) {
      heading.current?.focus({ preventScroll: isGoingBack() })
    }
  }, [])
  return heading
}

interface PageHeaderProps {
  readonly title: string
  readonly up?: { readonly href: string; readonly label: string }
  readonly children?: ReactNode
}

/** A page's header: its title, which also sets the window's; a link to the parent page; state and actions. */
export const PageHeader = ({ title, up, children }: PageHeaderProps) => {
  const heading = useArrival()
  useEffect(() => {
    document.title = `${title} · Tributary`
  }, [title])
  return (
    <header className={styles.header}>
      {up && (
        <p className={styles.up}>
          <Link href={up.href}>← {up.label}</Link>
        </p>
      )}
      <h1 ref={heading} tabIndex={-1}>
        {title}
      </h1>
      {children}
    </header>
  )
}

/** The right end of a page header or panel header. */
export const Aside = ({ children }: { readonly children: ReactNode }) => <div className={styles.aside}>{children}</div>

interface PanelProps {
  readonly title: string
  readonly aside?: ReactNode
  readonly flush?: boolean
  readonly children: ReactNode
}

/** A section with a heading. With `flush`, its content (a table) extends to the edges. */
export const Panel = ({ title, aside, flush = false, children }: PanelProps) => (
  <section className={styles.panel} aria-label={title}>
    <div className={styles.panelHead}>
      <h2>{title}</h2>
      {aside && <div className={styles.quiet}>{aside}</div>}
    </div>
    <div className={flush ? styles.flush : styles.panelBody}>{children}</div>
  </section>
)

/** A panel with one sentence; nothing if the text is null. */
export const Note = ({ title, text }: { readonly title: string; readonly text: string | null }) =>
  text !== null && (
    <Panel title={title}>
      <p>{text}</p>
    </Panel>
  )

/** Panels side by side, if there is room. */
export const Columns = ({ children }: { readonly children: ReactNode }) => (
  <div className={styles.columns}>{children}</div>
)

type Entry = readonly [name: string, value: ReactNode]

const listOf = (className: string | undefined) => (props: { readonly entries: readonly (Entry | false)[] }) => (
  <dl className={className}>
    {props.entries
      .filter((entry) => entry !== false)
      .map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
  </dl>
)

/** Names and values in columns. Entries that are false are omitted. */
export const Facts = listOf(styles.facts)

/** A few large numbers in a row. */
export const Figures = listOf(styles.figures)

/** The service's warnings about a request that it accepted anyway. */
export const Warnings = ({ texts }: { readonly texts: readonly string[] }) =>
  texts.map((text) => (
    <p key={text} className={styles.warning}>
      <WarningText text={text} />
    </p>
  ))

export const Quiet = ({ children }: { readonly children: ReactNode }) => (
  <span className={styles.quiet}>{children}</span>
)

interface EmptyProps {
  readonly title: string
  readonly command?: string
  readonly children?: ReactNode
}

/** Placeholder for an empty list: says what belongs here, and the command that creates the first one. */
export const Empty = ({ title, command, children }: EmptyProps) => (
  <div className={styles.empty}>
    <strong>{title}</strong>
    {children && <p>{children}</p>}
    {command !== undefined && <Command>{command}</Command>}
  </div>
)

/** Whoever may not do something would be refused again. */
const isRefused = (error: Error): boolean => error instanceof ApiError && error.status === 403

/** An error with the service's message, and a retry button where that can help. */
export const Problem = ({ error, retry }: { readonly error: Error; readonly retry?: () => unknown }) => (
  <div className={styles.problem} role="alert">
    <span>{error.message}</span>
    {retry && !isRefused(error) && (
      <Button tone="danger" onClick={() => void retry()}>
        Try again
      </Button>
    )}
  </div>
)

export interface Loadable<Data> {
  readonly data: Data | undefined
  /** True if the data is of an earlier request, until that of this one arrives. */
  readonly isPlaceholderData?: boolean
  readonly error: Error | null
  readonly refetch: () => unknown
}

/** A query that is fetched again after a failure has no error meanwhile: returns its last one until data arrives. */
export const useLastError = ({
  data,
  isPlaceholderData = false,
  error,
}: Omit<Loadable<unknown>, 'refetch'>): Error | null => {
  const [last, setLast] = useState<Error | null>(null)
  const next = data === undefined || isPlaceholderData ? (error ?? last) : null
  if (next !== last) setLast(next)
  return next
}

/** Shows a query's data, or its error or loading state. Data stays in view if a refetch fails. */
export const Loaded = <Data,>({
  query,
  children,
}: {
  readonly query: Loadable<Data>
  readonly children: (data: Data) => ReactNode
}) => {
  const error = useLastError(query)
  if (error !== null) return <Problem error={error} retry={query.refetch} />
  if (query.data !== undefined) return children(query.data)
  return <div className={styles.loading} role="status" aria-label="Loading" />
}

type PlainButtonProps = ComponentProps<'button'> & { readonly tone?: 'primary' | 'danger' | undefined }

const PlainButton = ({ tone, className, ...rest }: PlainButtonProps) => (
  <button
    type="button"
    {...rest}
    className={[styles.button, tone && styles[tone], className].filter(Boolean).join(' ')}
  />
)

const GuardedButton = ({ needs, ...rest }: PlainButtonProps & { readonly needs: Scope }) => {
  const may = useMay()
  return <PlainButton {...rest} {...(!may(needs) && { disabled: true, title: `This requires the scope ${needs}.` })} />
}

/** `needs`: the scope required for the button to be enabled. */
export const Button = ({ needs, ...rest }: PlainButtonProps & { readonly needs?: Scope }) =>
  needs === undefined ? <PlainButton {...rest} /> : <GuardedButton needs={needs} {...rest} />

export const Filters = ({ children }: { readonly children: ReactNode }) => (
  <search className={styles.filters}>{children}</search>
)
