import { QueryClientProvider } from '@tanstack/react-query'
import { Suspense, useEffect, useState } from 'react'
import { Route, Switch } from 'wouter'
import { queries } from './api/client.ts'
import { type SecondFactorStep, type Session, useSession } from './api/session.ts'
import { Live } from './live/live.tsx'
import { AREAS } from './pages/areas.ts'
import { PAGES } from './pages/pages.ts'
import { Empty, Loaded, PageHeader } from './parts/layout.tsx'
import { Boundary } from './shell/boundary.tsx'
import { ConfirmSession } from './shell/confirm-session.tsx'
import { Enroll } from './shell/enroll.tsx'
import { Invitation, takeInvitation } from './shell/invitation.tsx'
import { nextPage, takeNextPage } from './shell/next-page.ts'
import { ProviderAnswer, takeProviderAnswer } from './shell/provider-sign-in.tsx'
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

const Gate = ({ email, step }: { readonly email: string | null; readonly step: SecondFactorStep | null }) => (
  <Loaded query={useSession()}>
    {(session) =>
      session.person?.restriction === 'confirm' ? (
        <ConfirmSession person={session.person} provider={session.identity_provider} />
      ) : session.person?.restriction === 'enroll' ? (
        <Enroll />
      ) : session.signed_in ? (
        <SignedIn session={session} />
      ) : (
        <SignIn email={email} provider={session.identity_provider} begun={step} />
      )
    }
  </Loaded>
)

const LINK_CODE = takeLinkCode()
const INVITATION = takeInvitation()
const PROVIDER_ANSWER = takeProviderAnswer()
takeNextPage()

export const App = () => {
  const [code, setCode] = useState(LINK_CODE)
  const [invitation, setInvitation] = useState(INVITATION)
  const [answer, setAnswer] = useState(PROVIDER_ANSWER)
  const [step, setStep] = useState<SecondFactorStep | null>(null)
  const [joined, setJoined] = useState<string | null>(null)
  const join = (email: string): void => {
    setJoined(email)
    setInvitation(null)
  }
  const finish = (due: SecondFactorStep | null): void => {
    setStep(due)
    setAnswer(null)
  }
  return (
    <QueryClientProvider client={queries}>
      {invitation !== null ? (
        <Invitation token={invitation} onDone={join} />
      ) : code !== null ? (
        <SignInLink code={code} onDone={() => setCode(null)} />
      ) : answer !== null ? (
        <ProviderAnswer query={answer} onDone={finish} />
      ) : (
        <Gate email={joined} step={step} />
      )}
    </QueryClientProvider>
  )
}
