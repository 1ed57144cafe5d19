// swift-tools-version: 6.1
import PackageDescription

// Each program is a libFuzzer target, whose main function comes with the fuzzer:
//
//   swift build -c release --sanitize=fuzzer
//   .build/release/FuzzFormat -max_len=512 -max_total_time=1800 FOLDER
//
// FOLDER keeps the inputs that reached something new; inputs that were found wrong are tests since, beside those of
// the parser in question.
let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]
let programSettings = settings + [.unsafeFlags(["-parse-as-library"])]

// A package of its own, so that who uses cdgen never meets its flags. The modules are links to cdgen's sources and no
// dependency: the fuzzer sees only what was built with its flags, and a build of the dependency with them would reach
// the programs too, which have main functions.
let package = Package(
  name: "Fuzz",
  platforms: [.macOS(.v15)],
  targets: [
    .systemLibrary(
      name: "CLibYAML", pkgConfig: "yaml-0.1", providers: [.apt(["libyaml-dev"]), .brew(["libyaml"])]),
    .target(name: "CDValues", swiftSettings: settings),
    .target(name: "CDModel", dependencies: ["CDValues"], swiftSettings: settings),
    .target(name: "CDMapping", dependencies: ["CDModel"], swiftSettings: settings),
    .target(name: "CDTooling", dependencies: ["CDMapping", "CDModel"], swiftSettings: settings),
    .target(
      name: "CDSchema", dependencies: ["CDMapping", "CDModel", "CDTooling", "CLibYAML"],
      swiftSettings: settings),
    .target(
      name: "CDGenerator", dependencies: ["CDMapping", "CDModel", "CDTooling"], swiftSettings: settings),
    .executableTarget(
      name: "FuzzFormat", dependencies: ["CDModel"], swiftSettings: programSettings),
    .executableTarget(
      name: "FuzzSchema", dependencies: ["CDSchema", "CDGenerator", "CDModel"], swiftSettings: programSettings
    ),
  ],
  swiftLanguageModes: [.v6]
)
