// swift-tools-version: 6.1
import PackageDescription

let package = Package(
  name: "Plants",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "cdgen", path: "../cdgen")],
  targets: [
    .executableTarget(
      name: "Plants",
      dependencies: [.product(name: "CDRuntime", package: "cdgen")],
      plugins: [.plugin(name: "CDGenPlugin", package: "cdgen")])
  ]
)
