import { QueryClientProvider } from '@tanstack/react-query'
import { Component, lazy, type ReactNode, Suspense, useEffect, useState } from 'react'
import { Route, Switch } from 'wouter'
import { queries } from './api/client.ts'
import { type Session, useSession } from './api/session.ts'
import { Live } from './live/live.tsx'
import { AREAS } from './pages/areas.ts'
import { PAGES } from './pages/pages.ts'
import { Loaded, Problem } from './parts/layout.tsx'
import { NotFound } from './parts/not-found.tsx'
import { errorOf } from './parts/use-action.ts'
import { Shell } from './shell/shell.tsx'
import type { Arrived } from './shell/sign-in-pages.tsx'
import { nextPage, takeNextPage, takeWayIn } from './shell/way-in.ts'

const LOADING = <div role="status" aria-label="Loading" />

// Whoever is signed in needs none of this.
const pages = () => import('./shell/sign-in-pages.tsx')
const Arrival = lazy(() => pages().then((loaded) => ({ default: loaded.Arrival })))
const SignInPage = lazy(() => pages().then((loaded) => ({ default: loaded.SignInPage })))

/** Keeps a fault of one page to that page. A chunk that is gone (the service was updated) is there after a reload. */
class Boundary extends Component<{ readonly children: ReactNode }, { readonly error: Error | null }> {
  override state: { readonly error: Error | null } = { error: null }

  static getDerivedStateFromError(error: unknown): { readonly error: Error } {
    return { error: errorOf(error) }
  }

  override render(): ReactNode {
    if (this.state.error === null) return this.props.children
    return <Problem error={this.state.error} retry={() => window.location.reload()} />
  }
}

const Pages = () => (
  <Switch>
    {AREAS.map(({ path, Area }) => (
      <Route key={path} path={path === '/' ? path : `${path}/*?`}>
        <Boundary key={path}>
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

const WAY_IN = takeWayIn()
takeNextPage()

export const App = () => {
  const [way, setWay] = useState(WAY_IN)
  const [arrived, setArrived] = useState<Arrived>({})
  const done = (next: Arrived): void => {
    setArrived(next)
    setWay(null)
  }
  return (
    <QueryClientProvider client={queries}>
      <Suspense fallback={LOADING}>
        {way === null ? <Gate arrived={arrived} /> : <Arrival way={way} onDone={done} />}
      </Suspense>
    </QueryClientProvider>
  )
}
