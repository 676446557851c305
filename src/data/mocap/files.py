"""The CMU walking trials that the mocap data set is made of: names, addresses and checksums.

The data used in this project was obtained from mocap.cs.cmu.edu. The database was created with funding from NSF
EIA-0196217. CMU's own server offers the originals over http only; the addresses below are public copies over https,
pinned to a commit. The AMC copies of trials 08 and 12 of subject 39 lack some first frames; the BVH files are complete.
"""

from __future__ import annotations

from pathlib import PurePosixPath

from data.files.published import Published

FOLDER = "cmu_mocap_walk"
MIRROR = "https://raw.githubusercontent.com"
ACCLAIM = f"{MIRROR}/KseniiaCheloshkina/amc/cc0ee085ee2396b92de5e47d5b59954ba8c57f5d/data"
BVH = (
    f"{MIRROR}/franciscovalentecastro/Mocap-Data-Utilities/25b6ae2cbfe89949b40a3127b74aee6aa0905dfb"
    "/sample-mocap-data/Walking/BVH"
)

# Path below FOLDER -> SHA-256 of the file.
CHECKSUMS = {
    "amc/07/07.asf": "f1fbd8abcd9073d24189d5f33b7220974b0ac4b5223fabbb0cc07799ec7a93b3",
    "amc/35/35.asf": "9b4888836cbd13cdab14a86c53a6b7765ccae48ddc7075d8c5e03ac34bc08364",
    "amc/39/39.asf": "97333f5053befbb1d2f0d8629ba6fe9eca9ef0553cdfa683faf825a5ba392920",
    "amc/39/39_01.amc": "0bd24ceccb151e1b42dde0baa65f1597c29b60450cf96151f3538e8243e9c0b2",
    "amc/39/39_02.amc": "1bf0231adcd71389049a667174f6294c756875e8a16c4589a7e75cb07019d184",
    "amc/39/39_03.amc": "db3f36339539b717b37b8a6b3d51d84c1bcd967cba32700e1b8726b05869a3c3",
    "amc/39/39_04.amc": "42b14879f90bd79b5c3051c94811a90aff513af55e6edfd19b6f0fa9644605fb",
    "amc/39/39_05.amc": "049d34ccbbf93dd0e0b9fa28d38a24c3402087a801f3da518b1bb0c929b47426",
    "amc/39/39_06.amc": "08df89eb753e2a195af001d32da5323b2f2e5a5d4dcff092ae64e6f8bb3d662a",
    "amc/39/39_07.amc": "a00cd1b3a01be257424bf027c6fc8b0b9f9cb716f1c8170c31e528d9a95409de",
    "amc/39/39_08.amc": "3526a58040bbe9a9b405227acde4110e012cc6beb3f149b596d2c35138245716",
    "amc/39/39_09.amc": "350b324fbd5bd904d5d319b251c886ca2101832a54a0110970bef34da50bd3bc",
    "amc/39/39_12.amc": "46e4dc36f86251432190f1e0271ccd803d961d4ea9434e3e89041705da88445e",
    "amc/39/39_13.amc": "0555dbf1da9418a429e44d75f1c20b118176c4203662429bb624f19a884d432d",
    "amc/39/39_14.amc": "2a7b710f75beb99646c14ad140a929da14e9b6173aba7d673f760f949d0a33b3",
    "bvh/07/07_01.bvh": "f8d82ea6ed1aab0cb7d9ee680f476b65471e2322e1da84add8a8527a2cb0b9a2",
    "bvh/07/07_02.bvh": "c733525de3ebc2353de93afdabee85e30604447da5f68f7a552c5f0a64fe9318",
    "bvh/07/07_03.bvh": "7add58b286725ea158be374a0b20db57c37e1ed25a93a30451ff17aabc30e1cb",
    "bvh/07/07_04.bvh": "320fceb9f8269b8d44f5142385e98e236eccc24cee3728d8227a4933abb82564",
    "bvh/07/07_05.bvh": "9931ac3f7582786117876b64afb2f73a9ef45776d81ff3460c861a9d7d82ae1e",
    "bvh/07/07_06.bvh": "94c1f4c3208517e249f2813f8fb5e036e2e94c7cd486024f0a6bdf10a6f753f4",
    "bvh/07/07_07.bvh": "04f8d964aa7c21f60434a5f7d114b2f27756ac91a2ee32f3935b704d025177db",
    "bvh/07/07_08.bvh": "c4244d9115e2a3d35eecc4bdffff2c7e9c067a73b06475b7cb3cfad90b2a76e4",
    "bvh/07/07_09.bvh": "ef9fab9da4885fd4d9a224771632cfaba38cb1a3119cc8e5c79efba3bb0c453f",
    "bvh/07/07_10.bvh": "c97819a62bbfa56c7d6e323f0976b9057fd8e3cf5bb9ef9bce510db855b44820",
    "bvh/07/07_11.bvh": "cec13f1b6039085fd60b5689dc478894a187bcdc268215b334d0a7f473446222",
    "bvh/35/35_01.bvh": "91d947f840845d00054dd331cb7e5c6a0195ee56406dc43273dbdc26467bc066",
    "bvh/35/35_02.bvh": "4176075057ea0ac8bcf5f45765746041852609964aa7766483f24a88a9e42355",
    "bvh/35/35_03.bvh": "c65ee001f64143add6ebee738f078dc7deb51d71fe615c2b3e3399e20652f93a",
    "bvh/35/35_04.bvh": "ce8c784b5c1f605518a4333a82be99fd544fe2bbe653eb90b714b5bbc10bac4e",
    "bvh/35/35_05.bvh": "e16c38ecad1f71c77e32ceb3f641268a681ed0858e0ccc10a6751f162e994795",
    "bvh/35/35_06.bvh": "f324befbca8e8b2d66c902d0872f97e12d5d49d2db98e55aa7784ba274845bd4",
    "bvh/35/35_07.bvh": "640bc065846f1907ae46efdb28a4e261149db2a3724acb19c5511a79bff625fa",
    "bvh/35/35_08.bvh": "89465f308270841bd6736644aec96a1180c344bbea3a90618d1ed9fcffe349ee",
    "bvh/35/35_09.bvh": "ec17587efe3770939c19fbf82a7bf335955db9fad3ddef491522fb63f7ca3ada",
    "bvh/35/35_10.bvh": "58c36fc84e371e7d07f332027e7768a3c0ccec8fc142061a2436a736b3160af5",
    "bvh/35/35_11.bvh": "eda9aaf6c1eb032f62f193e2e9858c0df9d4665d3e64f4b804d128def216963a",
    "bvh/35/35_12.bvh": "0704d31c04cbfd1f238e8ecadcfc61cccf1ad8c25cf221699cc360e48f12bcb1",
    "bvh/35/35_13.bvh": "81dbdb13b785e69c977c3329e54c02bf150ba4b42fd1166f7797117fdcbb7f72",
    "bvh/35/35_14.bvh": "a5de758d9cb9b083f139d9856ff747202b5fd37c740496291cca77056e496e11",
    "bvh/35/35_15.bvh": "92efb8a14dafe6f316e42e24fef1b62f3ff5331df85d77763d990d8984ed8472",
    "bvh/35/35_16.bvh": "a793917bd7905c50aab65b0bd1b422cf0ef46ebb0f51433a82c710c7b555cd31",
    "bvh/35/35_28.bvh": "eb115abf5eb09033e59d0ffc112b036c2d9a2169a1edbb3bcbeff8003c1a5b73",
    "bvh/35/35_29.bvh": "c6864e1ff43fb9a8e472847da0fe542fe7c67e8b140a381ae551801420905a86",
    "bvh/35/35_30.bvh": "f1e13fdeda145cdd20e0acf6a542ffdf78367bd26c30a0da95d92437d5020915",
    "bvh/35/35_31.bvh": "465c48d38dd97fef4734e480d30d1b25ece27820944eb889b5e8fc28194e7ad6",
    "bvh/35/35_32.bvh": "62bc87c2b25bb382a031de9bdf65a095c82ddab15beb6ff1f47e5fb7676b2085",
    "bvh/35/35_33.bvh": "b9d2eee77c1d9393c5ae6e599e4efdad459a5d42c0833cd186e3170e9a14497a",
    "bvh/35/35_34.bvh": "af8fa8764f58f04b6a8ea7dedc9cb756e54741717abd24207f0a86fb2fa95c39",
}


def address_of(name: str) -> str:
    """Returns the https address of a file in CHECKSUMS."""
    path = PurePosixPath(name)
    return f"{BVH}/{path.name}" if path.suffix == ".bvh" else f"{ACCLAIM}/{path.parent.name}/{path.name}"


PUBLISHED = Published("mocap", "cmu", address_of, CHECKSUMS, FOLDER, "the simulated stand-in")
