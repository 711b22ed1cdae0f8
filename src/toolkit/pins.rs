//! The wheels that cudalink fetches: exact versions, with the hash and size of each file.
//!
//! An entry is made with `pip download --no-deps --only-binary=:all: --platform TAG PACKAGE==VERSION`
//! and `sha256sum`, for each platform; [`Wheel::tag`] is the first of the tags in the file's name.

use super::{Component, Cpu, Needs, Os, Platform, Version, VersionRequest};
use crate::error::{Error, Result};

/// A Python package that holds components.
#[derive(Debug)]
pub(super) struct Package {
    /// The CUDA release that it belongs to.
    pub release: Version,
    pub name: &'static str,
    pub version: Version,
    /// Where it is unpacked, below the release's folder.
    pub folder: &'static str,
    /// What is unpacked of it.
    pub components: &'static [Component],
    wheels: &'static [Wheel],
}

/// One file of a package.
#[derive(Debug)]
pub(super) struct Wheel {
    platform: Platform,
    /// The platform as pip calls it.
    pub tag: &'static str,
    pub size: u64,
    pub sha256: &'static str,
}

impl Package {
    pub fn wheel(&self, platform: Platform) -> Option<&'static Wheel> {
        self.wheels.iter().find(|wheel| wheel.platform == platform)
    }
}

#[cfg(test)]
impl Package {
    /// nvJitLink in a wheel of one's own making.
    pub fn for_test(sha256: &str, size: u64) -> &'static Self {
        let wheel = Wheel {
            platform: LINUX_X86_64,
            tag: "manylinux2014_x86_64",
            size,
            sha256: sha256.to_owned().leak(),
        };
        Box::leak(Box::new(Self {
            release: Version::new(13, 5),
            name: "nvidia-nvjitlink",
            version: Version::with_patch(13, 5, 37),
            folder: "nvjitlink",
            components: &[Component::NvJitLink],
            wheels: Box::leak(Box::new([wheel])),
        }))
    }
}

const LINUX_X86_64: Platform = Platform {
    os: Os::Linux,
    cpu: Cpu::X86_64,
};
const LINUX_AARCH64: Platform = Platform {
    os: Os::Linux,
    cpu: Cpu::Aarch64,
};
const WINDOWS_X86_64: Platform = Platform {
    os: Os::Windows,
    cpu: Cpu::X86_64,
};

/// Newest release first.
pub(super) const PACKAGES: &[Package] = &[
    Package {
        release: Version::new(13, 5),
        name: "nvidia-nvjitlink",
        version: Version::with_patch(13, 5, 37),
        folder: "nvjitlink",
        components: &[Component::NvJitLink],
        wheels: &[
            Wheel {
                platform: LINUX_X86_64,
                tag: "manylinux2010_x86_64",
                size: 46_642_491,
                sha256: "280d7cb9649704145f074b8dbde500de04ce02d0872e066e20a83c17bcaa93eb",
            },
            Wheel {
                platform: LINUX_AARCH64,
                tag: "manylinux2014_aarch64",
                size: 45_253_761,
                sha256: "893f6f9a55b2720ed94913b5ba3332e972da8c78dfa2863d0244403dbd528ffc",
            },
            Wheel {
                platform: WINDOWS_X86_64,
                tag: "win_amd64",
                size: 41_467_665,
                sha256: "4465d4e8f2212118220b580c82523c5654f93a62906bd51d29d79bdfc12376c1",
            },
        ],
    },
    Package {
        release: Version::new(13, 5),
        name: "nvidia-cuda-nvrtc",
        version: Version::with_patch(13, 5, 37),
        folder: "nvrtc",
        components: &[Component::Nvrtc, Component::NvrtcBuiltins],
        wheels: &[
            Wheel {
                platform: LINUX_X86_64,
                tag: "manylinux2010_x86_64",
                size: 58_185_930,
                sha256: "86b4d68058807988b7d9af5b44917a0601e9c337f35ccd657bfb3c759ff8d8bc",
            },
            Wheel {
                platform: LINUX_AARCH64,
                tag: "manylinux2014_aarch64",
                size: 56_419_462,
                sha256: "36e4fa2a8ada293f5693d308e531c196ab6f91cf7a0ff479bf96a537d43a6096",
            },
            Wheel {
                platform: WINDOWS_X86_64,
                tag: "win_amd64",
                size: 49_248_991,
                sha256: "e8e6c10b251385707ae3abd7b4ee118de6736fd7678d0f0f4eab4d759f679c21",
            },
        ],
    },
    Package {
        release: Version::new(13, 5),
        name: "nvidia-nvvm",
        version: Version::with_patch(13, 5, 37),
        folder: "nvvm",
        components: &[Component::LibNvvm, Component::Libdevice],
        wheels: &[
            Wheel {
                platform: LINUX_X86_64,
                tag: "manylinux2010_x86_64",
                size: 75_141_406,
                sha256: "c41bfa362e407405163f103c2229f0765f8cc2ed7d148b754dc77f228bf7e070",
            },
            Wheel {
                platform: LINUX_AARCH64,
                tag: "manylinux2014_aarch64",
                size: 71_213_582,
                sha256: "b659bd3115b7ac7ec8931e67d0e2c0dd09cd35b08a6a7372df6f8f22c67da80a",
            },
            Wheel {
                platform: WINDOWS_X86_64,
                tag: "win_amd64",
                size: 64_413_736,
                sha256: "9422cd190cedabca85f88de6674e0ee16f508915698517e04bfaf193f1809c21",
            },
        ],
    },
    Package {
        release: Version::new(13, 5),
        name: "nvidia-cuda-runtime",
        version: Version::with_patch(13, 5, 37),
        folder: "cudart",
        components: &[Component::Cudadevrt],
        wheels: &[
            Wheel {
                platform: LINUX_X86_64,
                tag: "manylinux2014_x86_64",
                size: 2_504_024,
                sha256: "df2b79a8852f10d1fef8c848489c49eebb5754051bf870202a862831412b179d",
            },
            Wheel {
                platform: LINUX_AARCH64,
                tag: "manylinux2014_aarch64",
                size: 2_520_010,
                sha256: "de2dc5a7367974228b0a69588a9acc9340d3768bef1bf38bf0801eb08497cd2d",
            },
            Wheel {
                platform: WINDOWS_X86_64,
                tag: "win_amd64",
                size: 2_780_254,
                sha256: "f225d3fa5ea6bfbb58fc4979ef72375cbe661d9107f0d8a4ff22cc151525e4a9",
            },
        ],
    },
    Package {
        release: Version::new(12, 9),
        name: "nvidia-nvjitlink-cu12",
        version: Version::with_patch(12, 9, 86),
        folder: "nvjitlink",
        components: &[Component::NvJitLink],
        wheels: &[
            Wheel {
                platform: LINUX_X86_64,
                tag: "manylinux2010_x86_64",
                size: 39_748_338,
                sha256: "e3f1171dbdc83c5932a45f0f4c99180a70de9bd2718c1ab77d14104f6d7147f9",
            },
            Wheel {
                platform: LINUX_AARCH64,
                tag: "manylinux2014_aarch64",
                size: 39_514_880,
                sha256: "994a05ef08ef4b0b299829cde613a424382aff7efb08a7172c1fa616cc3af2ca",
            },
            Wheel {
                platform: WINDOWS_X86_64,
                tag: "win_amd64",
                size: 35_584_936,
                sha256: "cc6fcec260ca843c10e34c936921a1c426b351753587fdd638e8cff7b16bb9db",
            },
        ],
    },
    Package {
        release: Version::new(12, 9),
        name: "nvidia-cuda-nvrtc-cu12",
        version: Version::with_patch(12, 9, 86),
        folder: "nvrtc",
        components: &[Component::Nvrtc, Component::NvrtcBuiltins],
        wheels: &[
            Wheel {
                platform: LINUX_X86_64,
                tag: "manylinux2010_x86_64",
                size: 89_568_129,
                sha256: "210cf05005a447e29214e9ce50851e83fc5f4358df8b453155d5e1918094dcb4",
            },
            Wheel {
                platform: LINUX_AARCH64,
                tag: "manylinux2014_aarch64",
                size: 44_528_905,
                sha256: "096d4de6bda726415dfaf3198d4f5c522b8e70139c97feef5cd2ca6d4cd9cead",
            },
            Wheel {
                platform: WINDOWS_X86_64,
                tag: "win_amd64",
                size: 76_408_187,
                sha256: "72972ebdcf504d69462d3bcd67e7b81edd25d0fb85a2c46d3ea3517666636349",
            },
        ],
    },
    Package {
        release: Version::new(12, 9),
        name: "nvidia-cuda-nvcc-cu12",
        version: Version::with_patch(12, 9, 86),
        folder: "nvvm",
        components: &[Component::LibNvvm, Component::Libdevice],
        wheels: &[
            Wheel {
                platform: LINUX_X86_64,
                tag: "manylinux2010_x86_64",
                size: 40_546_229,
                sha256: "5d6a0d32fdc7ea39917c20065614ae93add6f577d840233237ff08e9a38f58f0",
            },
            Wheel {
                platform: LINUX_AARCH64,
                tag: "manylinux2014_aarch64",
                size: 39_411_138,
                sha256: "44e1eca4d08926193a558d2434b1bf83d57b4d5743e0c431c0c83d51da1df62b",
            },
            Wheel {
                platform: WINDOWS_X86_64,
                tag: "win_amd64",
                size: 34_669_845,
                sha256: "8ed7f0b17dea662755395be029376db3b94fed5cbb17c2d35cc866c5b1b84099",
            },
        ],
    },
    Package {
        release: Version::new(12, 9),
        name: "nvidia-cuda-runtime-cu12",
        version: Version::with_patch(12, 9, 79),
        folder: "cudart",
        components: &[Component::Cudadevrt],
        wheels: &[
            Wheel {
                platform: LINUX_X86_64,
                tag: "manylinux2014_x86_64",
                size: 3_493_179,
                sha256: "25bba2dfb01d48a9b59ca474a1ac43c6ebf7011f1b0b8cc44f54eb6ac48a96c3",
            },
            Wheel {
                platform: LINUX_AARCH64,
                tag: "manylinux2014_aarch64",
                size: 3_515_012,
                sha256: "83469a846206f2a733db0c42e223589ab62fd2fabac4432d2f8802de4bded0a4",
            },
            Wheel {
                platform: WINDOWS_X86_64,
                tag: "win_amd64",
                size: 3_591_604,
                sha256: "8e018af8fa02363876860388bd10ccb89eb9ab8fb0aa749aaf58430a9f7c4891",
            },
        ],
    },
    Package {
        release: Version::new(12, 4),
        name: "nvidia-nvjitlink-cu12",
        version: Version::with_patch(12, 4, 127),
        folder: "nvjitlink",
        components: &[Component::NvJitLink],
        wheels: &[
            Wheel {
                platform: LINUX_X86_64,
                tag: "manylinux2014_x86_64",
                size: 21_066_810,
                sha256: "06b3b9b25bf3f8af351d664978ca26a16d2c5127dbd53c0497e28d1fb9611d57",
            },
            Wheel {
                platform: LINUX_AARCH64,
                tag: "manylinux2014_aarch64",
                size: 20_552_510,
                sha256: "4abe7fef64914ccfa909bc2ba39739670ecc9e820c83ccc7a6ed414122599b83",
            },
            Wheel {
                platform: WINDOWS_X86_64,
                tag: "win_amd64",
                size: 95_336_325,
                sha256: "fd9020c501d27d135f983c6d3e244b197a7ccad769e34df53a42e276b0e25fa1",
            },
        ],
    },
];

/// Where a component is unpacked, below the folder of its release.
pub(super) fn package_folder(component: Component) -> Option<&'static str> {
    let mut packages = PACKAGES.iter();
    let package = packages.find(|package| package.components.contains(&component))?;
    Some(package.folder)
}

/// Every release that can be fetched, newest first.
pub(super) fn releases() -> Vec<Version> {
    let mut releases: Vec<Version> = PACKAGES.iter().map(|package| package.release).collect();
    releases.dedup();
    releases
}

/// The packages of one release that hold these components, or `None` if one has no package.
pub(super) fn packages(
    release: Version,
    components: &[Component],
    platform: Platform,
) -> Option<Vec<&'static Package>> {
    let mut found: Vec<&'static Package> = Vec::new();
    for component in components {
        let package = PACKAGES.iter().find(|package| {
            package.release == release
                && package.components.contains(component)
                && package.wheel(platform).is_some()
        })?;
        if !found.iter().any(|known| known.folder == package.folder) {
            found.push(package);
        }
    }
    Some(found)
}

/// The newest release that holds the components and suits: what was asked for, what the work needs,
/// and not newer than the part that is already chosen (IR of a newer compiler than the linker is refused).
pub(super) fn choose(
    components: &[Component],
    platform: Platform,
    needs: &Needs,
    request: Option<VersionRequest>,
    at_most: Option<Version>,
) -> Option<(Version, Vec<&'static Package>)> {
    releases().into_iter().find_map(|release| {
        let packages = packages(release, components, platform)?;
        let suits = packages.iter().all(|package| {
            needs.refusal(Some(package.version)).is_none()
                && request.is_none_or(|request| request.accepts(package.version))
                && at_most.is_none_or(|at_most| package.release <= at_most.release())
        });
        suits.then_some((release, packages))
    })
}

/// The packages that `toolkit install` means.
pub(super) fn for_install(
    request: Option<VersionRequest>,
    components: &[Component],
    platform: Platform,
) -> Result<Vec<&'static Package>> {
    let of_release = |release: Version| -> Option<Vec<&'static Package>> {
        if components.is_empty() {
            let all = PACKAGES.iter().filter(|package| package.release == release);
            let all: Vec<_> = all
                .filter(|package| package.wheel(platform).is_some())
                .collect();
            return (!all.is_empty()).then_some(all);
        }
        packages(release, components, platform)
    };
    let accepted = |packages: &[&Package]| {
        let mut versions = packages.iter().map(|package| package.version);
        // Packages of one release differ in the third number; that of one of them picks the release.
        request.is_none_or(|request| versions.any(|version| request.accepts(version)))
    };
    let mut releases = releases().into_iter().filter_map(of_release);
    releases.find(|packages| accepted(packages)).ok_or_else(|| {
        let what = match request {
            Some(request) => format!("CUDA {request}"),
            None => "any release".to_owned(),
        };
        let what = match components {
            [] => what,
            _ => format!("{} of {what}", super::fetch::titles(components)),
        };
        let known = PACKAGES
            .iter()
            .filter(|package| package.wheel(platform).is_some());
        let lines = known.map(|package| {
            let names: Vec<_> = package.components.iter().map(|c| c.as_str()).collect();
            format!("{}: {}", package.version, names.join(", "))
        });
        let message = format!(
            "cudalink cannot fetch {what} for {} on {}",
            platform.os, platform.cpu
        );
        lines
            .fold(Error::usage(message), Error::detail)
            .hint("choose one that `cudalink toolkit list` shows")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_well_formed() {
        let mut hashes = std::collections::BTreeSet::new();
        for package in PACKAGES {
            assert_eq!(
                package.release,
                package.version.release(),
                "{}",
                package.name
            );
            for platform in [LINUX_X86_64, LINUX_AARCH64, WINDOWS_X86_64] {
                let wheel = package.wheel(platform).unwrap();
                assert_eq!(wheel.sha256.len(), 64);
                assert!(hashes.insert(wheel.sha256), "{} stands twice", wheel.sha256);
                assert!(wheel.size > 1_000_000);
            }
            for component in package.components {
                assert_eq!(package_folder(*component), Some(package.folder));
            }
        }
        assert!(releases().is_sorted_by(|a, b| a > b));
    }

    #[test]
    fn the_newest_release_that_suits_is_chosen() {
        use Component::*;
        let release = |components: &[Component], needs: &Needs, request: Option<&str>| {
            let request = request.map(|text| text.parse().unwrap());
            choose(components, LINUX_X86_64, needs, request, None).map(|(release, _)| release)
        };
        let any = Needs::default();
        assert_eq!(release(&[NvJitLink], &any, None), Some(Version::new(13, 5)));
        let old = Needs::default().below(Version::new(13, 0), "sm_70 is gone");
        assert_eq!(
            release(&[NvJitLink, Nvrtc], &old, None),
            Some(Version::new(12, 9))
        );
        let future = Needs::default().at_least(Version::new(14, 0), "it is from the future");
        assert_eq!(release(&[NvJitLink], &future, None), None);
        assert_eq!(
            release(&[NvJitLink], &any, Some("12")),
            Some(Version::new(12, 9))
        );
        assert_eq!(
            release(&[NvJitLink], &any, Some("12.4.127")),
            Some(Version::new(12, 4))
        );
        assert_eq!(release(&[Nvrtc], &any, Some("12.4")), None);
        assert_eq!(release(&[Nvlink], &any, None), None);
        let at_most = Some(Version::new(13, 0));
        let chosen = choose(&[Nvrtc], LINUX_X86_64, &any, None, at_most).unwrap();
        assert_eq!(chosen.0, Version::new(12, 9));
        let mac = Platform {
            os: Os::MacOs,
            cpu: Cpu::Aarch64,
        };
        assert!(choose(&[Nvrtc], mac, &any, None, None).is_none());
    }
}
