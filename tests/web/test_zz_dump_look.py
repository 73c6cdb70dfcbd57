import re, pytest
from pathlib import Path
from django.test import Client
from tests.web.conftest import *
from tests.support.twin_fleet import is_whole
from tests.support.waiting import eventually_blocking
pytestmark=[pytest.mark.django_db(databases=["default","estate"]), pytest.mark.usefixtures("firm")]
OUT=Path("/tmp/work/look/real"); OUT.mkdir(exist_ok=True)
def test_dump(fleet, operator, viewer):
    epoch = fleet.activate()
    fleet.node("core-1", labels={"zone": "a", "disk": "nvme"})
    fleet.node("gpu-1", roles=("seats",), silent=True)
    fleet.hold("ada-pm", "core-1"); fleet.hold("bo-eng", "gpu-1"); fleet.hold("cleo-eng","core-1")
    fleet.report("core-1", epoch); fleet.duty("maintenance"); fleet.pause("bo-eng")
    operator.get("/fleet/")
    eventually_blocking(is_whole, within=5)
    def save(c, name, url):
        r=c.get(url); print(name, r.status_code); (OUT/f"{name}.html").write_bytes(r.content)
    for name, url in dict(fleet="/fleet/", seats="/seats/", node="/fleet/nodes/core-1/", settings="/settings/nodes/", people="/people/", me="/settings/me/", pausef="/seats/pause/?handle=ada-pm", seat="/seats/bo-eng/", seat2="/seats/ada-pm/", notfound="/seats/nobody/", nonode="/fleet/nodes/zz/").items(): save(operator,name,url)
    save(Client(),"signin","/sign-in/"); save(viewer,"vseats","/seats/"); save(viewer,"forbidden","/people/add/"); save(viewer,"lost","/nowhere/")
    fleet.go_silent()
    for name, url in dict(dfleet="/fleet/", dseats="/seats/", dseat="/seats/bo-eng/",dnode="/fleet/nodes/core-1/").items(): save(operator,name,url)
