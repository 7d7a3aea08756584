import { QueryClientProvider } from '@tanstack/react-query'
import { Component, lazy, type ReactNode, Suspense, useEffect, useState } from 'react'
import { Route, Router, Switch, useLocation } from 'wouter'
import { queries } from './api/client.ts'
import { isOpen, type Session, useSession } from './api/session.ts'
import { sessionLock } from './api/session-lock.ts'
import { Live } from './live/live.tsx'
import { AREAS, expectArea } from './pages/areas.ts'
import { PAGES } from './pages/pages.ts'
import { DialogHost } from './parts/dialog.tsx'
import { Loaded, Problem } from './parts/layout.tsx'
import { NotFound } from './parts/not-found.tsx'
import { ShownOnce } from './parts/shown-once.tsx'
import { errorOf } from './parts/use-action.ts'
import { nextPage, takeNextPage } from './shell/next-page.ts'
import { Shell } from './shell/shell.tsx'
import { keptInvitation, takeSignInAddress } from './shell/sign-in-address.ts'
import type { Arrived } from './shell/sign-in-pages.tsx'
import { useRawLocation, useRawSearch } from './url/raw-address.ts'

const LOADING = <div role="status" aria-label="Loading" />

// Loaded only if needed: not for a signed-in user.
const pages = () => import('./shell/sign-in-pages.tsx')
const Arrival = lazy(() => pages().then((loaded) => ({ default: loaded.Arrival })))
const SignInPage = lazy(() => pages().then((loaded) => ({ default: loaded.SignInPage })))
const SignInCover = lazy(() => pages().then((loaded) => ({ default: loaded.SignInCover })))

interface Fault {
  readonly error: Error | null
  readonly path: string
}

/** Limits an error to the path where it occurred. If a chunk is missing after an update of the service, a reload fixes it. */
class Boundary extends Component<{ readonly path: string; readonly children: ReactNode }, Fault> {
  override state: Fault = { error: null, path: this.props.path }

  static getDerivedStateFromError(error: unknown): Pick<Fault, 'error'> {
    return { error: errorOf(error) }
  }

  static getDerivedStateFromProps({ path }: { readonly path: string }, fault: Fault): Fault | null {
    return path === fault.path ? null : { error: null, path }
  }

  override render(): ReactNode {
    if (this.state.error === null) return this.props.children
    return <Problem error={this.state.error} retry={() => window.location.reload()} />
  }
}

const Pages = () => {
  const [location] = useLocation()
  return (
    <Switch>
      {AREAS.map(({ path, Area }) => (
        <Route key={path} path={path === '/' ? path : `${path}/*?`}>
          <Boundary key={path} path={location}>
            <Suspense fallback={LOADING}>
              <Area />
            </Suspense>
          </Boundary>
        </Route>
      ))}
      <Route>
        <NotFound />
      </Route>
    </Switch>
  )
}

/** Redirects to the page that required a sign-in, otherwise shows the dashboard. */
const SignedIn = ({ session }: { readonly session: Session }) => {
  const [next] = useState(nextPage)
  useEffect(() => {
    if (next !== null) window.location.replace(next)
  }, [next])
  if (next !== null) return null
  return (
    <Live>
      <Shell session={session} pages={PAGES} expect={expectArea}>
        <Pages />
      </Shell>
      <DialogHost />
    </Live>
  )
}

/** The page stays mounted when its session ends or needs a confirmation, with the forms and secrets on it. */
const Inside = ({ session }: { readonly session: Session }) => {
  const lock = sessionLock.use()
  return (
    <>
      <SignedIn session={session} />
      {lock !== null && (
        <Boundary path="">
          <Suspense fallback={LOADING}>
            <SignInCover session={lock.session} former={session} isRequested={lock.isRequested} />
          </Suspense>
        </Boundary>
      )}
    </>
  )
}

const Gate = ({ arrived }: { readonly arrived: Arrived }) => (
  <Loaded query={useSession()}>
    {(session) => (isOpen(session) ? <Inside session={session} /> : <SignInPage session={session} arrived={arrived} />)}
  </Loaded>
)

const SIGN_IN_ADDRESS = takeSignInAddress() ?? keptInvitation()
takeNextPage()

export const App = () => {
  const [way, setWay] = useState(SIGN_IN_ADDRESS)
  const [arrived, setArrived] = useState<Arrived>({})
  useEffect(() => {
    // Opening a sign-in link in a tab that shows the dashboard does not reload the page.
    const arrive = (): void => {
      const next = takeSignInAddress()
      if (next !== null) setWay(next)
    }
    window.addEventListener('hashchange', arrive)
    return () => window.removeEventListener('hashchange', arrive)
  }, [])
  const done = (next: Arrived): void => {
    setArrived(next)
    setWay(null)
  }
  return (
    <QueryClientProvider client={queries}>
      <Router hook={useRawLocation} searchHook={useRawSearch}>
        <Suspense fallback={LOADING}>
          {way === null ? <Gate arrived={arrived} /> : <Arrival key={JSON.stringify(way)} way={way} onDone={done} />}
        </Suspense>
        <ShownOnce />
      </Router>
    </QueryClientProvider>
  )
}
