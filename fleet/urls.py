"""Addresses of fleet, seats and node settings, at the root of the site."""

from django.urls import path
from django.views.generic import RedirectView

from fleet import pause_views, views

app_name = "fleet"

urlpatterns = [
    path("", RedirectView.as_view(url="/fleet/"), name="home"),
    path("fleet/", views.board, name="fleet"),
    path("fleet/nodes/<str:node>/", views.node, name="node"),
    path("seats/", views.seats, name="seats"),
    path("seats/pause/", pause_views.pause, name="pause"),
    path("seats/resume/", pause_views.resume, name="resume"),
    path("seats/<str:handle>/", views.seat, name="seat"),
    path("settings/nodes/", views.settings_nodes, name="settings"),
]
