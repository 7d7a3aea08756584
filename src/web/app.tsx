import { CSPProvider } from '@base-ui/react/csp-provider'
import { QueryClientProvider } from '@tanstack/react-query'
import { Suspense, useState } from 'react'
import { Route, Switch } from 'wouter'
import { queries } from './api/client.ts'
import { useSession } from './api/session.ts'
import { Live } from './live/live.tsx'
import { AREAS } from './pages/areas.ts'
import { PAGES } from './pages/pages.ts'
import { Empty, Loaded, PageHeader } from './parts/layout.tsx'
import { Boundary } from './shell/boundary.tsx'
import { ConfirmSession } from './shell/confirm-session.tsx'
import { Enroll } from './shell/enroll.tsx'
import { Invitation, takeInvitation } from './shell/invitation.tsx'
import { Shell } from './shell/shell.tsx'
import { SignIn } from './shell/sign-in.tsx'
import { SignInLink, takeLinkCode } from './shell/sign-in-link.tsx'

const NotFound = () => (
  <>
    <PageHeader title="No such page" />
    <Empty title="There is nothing at this address">The navigation lists what there is.</Empty>
  </>
)

const Pages = () => (
  <Switch>
    {AREAS.map(({ path, Area }) => (
      <Route key={path} path={path === '/' ? path : `${path}/*?`}>
        <Boundary key={path}>
          <Suspense fallback={<div role="status" aria-label="Loading" />}>
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

const Gate = ({ email }: { readonly email: string | null }) => (
  <Loaded query={useSession()}>
    {(session) =>
      session.person?.restriction === 'confirm' ? (
        <ConfirmSession person={session.person} />
      ) : session.person?.restriction === 'enroll' ? (
        <Enroll />
      ) : session.signed_in ? (
        <Live>
          <Shell session={session} pages={PAGES}>
            <Pages />
          </Shell>
        </Live>
      ) : (
        <SignIn email={email} />
      )
    }
  </Loaded>
)

const LINK_CODE = takeLinkCode()
const INVITATION = takeInvitation()

export const App = () => {
  const [code, setCode] = useState(LINK_CODE)
  const [invitation, setInvitation] = useState(INVITATION)
  const [joined, setJoined] = useState<string | null>(null)
  const join = (email: string): void => {
    setJoined(email)
    setInvitation(null)
  }
  return (
    <CSPProvider disableStyleElements>
      <QueryClientProvider client={queries}>
        {invitation !== null ? (
          <Invitation token={invitation} onDone={join} />
        ) : code !== null ? (
          <SignInLink code={code} onDone={() => setCode(null)} />
        ) : (
          <Gate email={joined} />
        )}
      </QueryClientProvider>
    </CSPProvider>
  )
}
