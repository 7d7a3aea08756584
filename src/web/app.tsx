import { QueryClientProvider } from '@tanstack/react-query'
import { Component, lazy, type ReactNode, Suspense, useEffect, useState } from 'react'
import { Route, Router, Switch, useLocation } from 'wouter'
import { queries } from './api/client.ts'
import { type Session, useSession } from './api/session.ts'
import { Live } from './live/live.tsx'
import { AREAS } from './pages/areas.ts'
import { PAGES } from './pages/pages.ts'
import { Loaded, Problem } from './parts/layout.tsx'
import { NotFound } from './parts/not-found.tsx'
import { errorOf } from './parts/use-action.ts'
import { nextPage, takeNextPage } from './shell/next-page.ts'
import { Shell } from './shell/shell.tsx'
import { takeSignInAddress } from './shell/sign-in-address.ts'
import type { Arrived } from './shell/sign-in-pages.tsx'
import { useRawLocation, useRawSearch } from './url/raw-address.ts'

const LOADING = <div role="status" aria-label="Loading" />

// Whoever is signed in needs none of this.
const pages = () => import('./shell/sign-in-pages.tsx')
const Arrival = lazy(() => pages().then((loaded) => ({ default: loaded.Arrival })))
const SignInPage = lazy(() => pages().then((loaded) => ({ default: loaded.SignInPage })))

interface Fault {
  readonly error: Error | null
  readonly path: string
}

/** Keeps a fault of one page to its path. A chunk that is gone (the service was updated) is there after a reload. */
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

/** The page that sent somebody here to sign in, else the dashboard. */
const SignedIn = ({ session }: { readonly session: Session }) => {
  const [next] = useState(nextPage)
  useEffect(() => {
    if (next !== null) window.location.replace(next)
  }, [next])
  if (next !== null) return null
  return (
    <Live>
      <Shell session={session} pages={PAGES}>
        <Pages />
      </Shell>
    </Live>
  )
}

const Gate = ({ arrived }: { readonly arrived: Arrived }) => (
  <Loaded query={useSession()}>
    {(session) =>
      session.signed_in && session.person?.restriction == null ? (
        <SignedIn session={session} />
      ) : (
        <SignInPage session={session} arrived={arrived} />
      )
    }
  </Loaded>
)

const SIGN_IN_ADDRESS = takeSignInAddress()
takeNextPage()

export const App = () => {
  const [way, setWay] = useState(SIGN_IN_ADDRESS)
  const [arrived, setArrived] = useState<Arrived>({})
  useEffect(() => {
    // A link that is opened where the dashboard is already shown loads nothing anew.
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
      </Router>
    </QueryClientProvider>
  )
}
