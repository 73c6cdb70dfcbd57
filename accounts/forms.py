"""What people type: shapes only; what is acceptable is decided by the services."""

from typing import Any, Final

from django import forms

from runtime.access import Role

PASSWORD_LIMIT: Final = 1_024  # characters; hashing more is work for nobody's benefit
ROLE_WORDS: Final = (
    (Role.VIEWER.value, "viewer: reads every page"),
    (Role.OPERATOR.value, "operator: also pauses seats, writes files, reviews alarms"),
    (Role.ADMIN.value, "admin: also changes configuration, secrets and people"),
)


class PlainForm(forms.Form):
    """A form in the look of this site."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.label_suffix = ""
        for field in self.fields.values():
            if not isinstance(field.widget, forms.RadioSelect | forms.CheckboxInput):
                field.widget.attrs.setdefault("class", "input")


class SignInForm(PlainForm):
    """Name and password."""

    username = forms.CharField(
        label="User name",
        max_length=150,
        widget=forms.TextInput(
            attrs={"autocomplete": "username", "autocapitalize": "none", "spellcheck": "false"}
        ),
    )
    password = forms.CharField(
        label="Password",
        strip=False,
        max_length=PASSWORD_LIMIT,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )


class NewPasswordForm(PlainForm):
    """A new password, twice, since without script nobody sees what they typed."""

    password = forms.CharField(
        label="New password",
        strip=False,
        max_length=PASSWORD_LIMIT,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
    again = forms.CharField(
        label="The same again",
        strip=False,
        max_length=PASSWORD_LIMIT,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )

    def clean_again(self) -> str:
        """Both have to be the same."""
        again = str(self.cleaned_data["again"])
        if "password" in self.cleaned_data and self.cleaned_data["password"] != again:
            raise forms.ValidationError("The two passwords differ.")  # noqa: EM101 - fixed words
        return again


class AddPersonForm(PlainForm):
    """Somebody new."""

    sign_name = forms.CharField(
        label="User name",
        max_length=150,
        help_text="What they sign in with, in lower case.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none"}),
    )
    display_name = forms.CharField(
        label="Name", max_length=200, widget=forms.TextInput(attrs={"autocomplete": "off"})
    )
    role = forms.ChoiceField(label="Role", choices=ROLE_WORDS, widget=forms.RadioSelect)


class RoleForm(PlainForm):
    """Another role for somebody."""

    role = forms.ChoiceField(label="Role", choices=ROLE_WORDS, widget=forms.RadioSelect)


class PreferencesForm(PlainForm):
    """How the pages look to this reader, in this browser."""

    theme = forms.ChoiceField(
        choices=(("system", "as the system"), ("light", "light"), ("dark", "dark")),
        widget=forms.RadioSelect,
    )
    density = forms.ChoiceField(
        choices=(("comfortable", "comfortable"), ("compact", "compact")), widget=forms.RadioSelect
    )
    tz = forms.ChoiceField(
        label="Times in",
        choices=(("company", "company time"), ("reader", "your time"), ("utc", "UTC")),
        widget=forms.RadioSelect,
    )
    keys = forms.ChoiceField(
        label="Single-key shortcuts",
        choices=(("on", "on"), ("off", "off")),
        widget=forms.RadioSelect,
    )
