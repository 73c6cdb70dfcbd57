"""Addresses of sign-in and people, at the root of the site."""

from django.urls import path

from accounts import people_views, views

app_name = "accounts"

urlpatterns = [
    path("sign-in/", views.sign_in, name="sign-in"),
    path("sign-out/", views.sign_out, name="sign-out"),
    path("welcome/<str:secret>/", views.welcome, name="welcome"),
    path("settings/me/", views.my_settings, name="me"),
    path("settings/me/sign-out-everywhere/", views.end_my_sessions, name="end-my-sessions"),
    path("people/", people_views.people, name="people"),
    path("people/add/", people_views.add, name="add"),
    path("people/<str:sign_name>/", people_views.person, name="person"),
    path("people/<str:sign_name>/role/", people_views.change_role, name="role"),
    path("people/<str:sign_name>/reset/", people_views.reset, name="reset"),
    path("people/<str:sign_name>/remove/", people_views.remove, name="remove"),
]
