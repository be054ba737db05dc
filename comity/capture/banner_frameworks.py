"""Consent frameworks that sites load, by the element that holds their banner and the button that says no.

Facts about other people's markup, as their public releases use it. `refuse` is only ever a button that consents to
nothing: where a framework offers none on its first layer, the banner is hidden and the site has no answer.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Framework:
    """`name` is what `excludeFrameworks` and the report call it; both selectors are CSS."""

    name: str
    banner: str
    refuse: str | None = None


FRAMEWORKS = (
    Framework("onetrust", "#onetrust-consent-sdk, #onetrust-banner-sdk", "#onetrust-reject-all-handler"),
    Framework(
        "cookiebot",
        "#CybotCookiebotDialog, #CybotCookiebotDialogBodyUnderlay",
        "#CybotCookiebotDialogBodyButtonDecline",
    ),
    Framework("didomi", "#didomi-host", "#didomi-notice-disagree-button, .didomi-continue-without-agreeing"),
    Framework("quantcast", "#qc-cmp2-container, .qc-cmp2-container"),
    Framework(
        "trustarc",
        "#truste-consent-track, #consent_blackbar, .truste_overlay, .truste_box_overlay",
        "#truste-consent-required",
    ),
    Framework("usercentrics", "#usercentrics-root, #usercentrics-cmp-ui"),
    Framework("sourcepoint", "div[id^='sp_message_container_']"),
    Framework("google-funding-choices", ".fc-consent-root", ".fc-cta-do-not-consent"),
    Framework("cookieyes", ".cky-consent-container, .cky-overlay", ".cky-btn-reject"),
    Framework("complianz", "#cmplz-cookiebanner-container, .cmplz-cookiebanner", ".cmplz-cookiebanner .cmplz-deny"),
    Framework("iubenda", "#iubenda-cs-banner", ".iubenda-cs-reject-btn"),
    Framework("osano", ".osano-cm-window", ".osano-cm-denyAll"),
    Framework("cookieconsent", ".cc-window.cc-banner, .cc-window.cc-floating", ".cc-window .cc-deny"),
    Framework("termly", "#termly-code-snippet-support", "[data-tid='banner-decline']"),
    Framework("klaro", ".klaro .cookie-notice, .klaro .cookie-modal", ".klaro .cn-decline"),
    Framework("borlabs", "#BorlabsCookieBox", "#BorlabsCookieBox [data-cookie-refuse]"),
    Framework("cookie-notice", "#cookie-notice", "#cn-refuse-cookie"),
    Framework("axeptio", "#axeptio_overlay"),
    Framework("tarteaucitron", "#tarteaucitronRoot", "#tarteaucitronAllDenied2"),
    Framework("civic", "#ccc", "#ccc-reject-settings"),
    Framework("consentmanager", "#cmpbox, #cmpbox2", ".cmpboxbtnno"),
    Framework("hubspot", "#hs-eu-cookie-confirmation", "#hs-eu-decline-button"),
    Framework("cookie-script", "#cookiescript_injected", "#cookiescript_reject"),
    Framework("moove", "#moove_gdpr_cookie_info_bar", ".moove-gdpr-infobar-reject-btn"),
)
NAMES = frozenset(framework.name for framework in FRAMEWORKS)
