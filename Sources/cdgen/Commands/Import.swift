public import ArgumentParser
import CDConsole
import CDModel
import CDSchema
public import CDXcode

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// `cdgen import`
struct Import: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Convert a model of Xcode, with all its versions.",
    discussion: """
      Reads an .xcdatamodeld or .xcdatamodel, and creates a folder NAME.cdmodel in the output folder. If the name of \
      the output folder ends in .cdmodel, it becomes the model itself. No existing file is overwritten.

        cdgen import App/Library.xcdatamodeld --output Schemas
        cdgen import App/Library.xcdatamodeld --output Schemas --order order.txt --mappings App

      Each version becomes a file. Elements that the schema language cannot express are kept under 'info', and \
      'cdgen export' restores them. If such an element has a meaning outside Xcode, a warning names it. After the \
      import, run 'cdgen check', answer the questions in the mapping files, and run 'cdgen lock --all'.
      """)

  @Argument(
    help: "The model of Xcode: a folder NAME.xcdatamodeld or NAME.xcdatamodel.", completion: .directory)
  var bundle: String

  @Option(
    name: .shortAndLong, help: "The folder in which to create the model's folder.", completion: .directory)
  var output: String

  @Option(
    help: ArgumentHelp(
      "A file with the names of the versions, one in each line, the oldest first.",
      discussion:
        "Needed if the names do not contain numbers that determine the order. 'NAME <- BASE' names the version "
        + "that NAME is based on. Versions that are not in the file are left out.", valueName: "file"),
    completion: .file())
  var order: String?

  @Option(
    help: ArgumentHelp(
      "A folder in which to look for mapping models, *.xcmappingmodel.", valueName: "folder"),
    completion: .directory)
  var mappings: String?

  @Option(
    help: ArgumentHelp(
      "The conversion of optional numbers and Booleans that the classes declare as scalars.",
      discussion:
        "'optional' keeps them optional, such as Int32?. 'default' makes them mandatory, with the default 0 or false "
        + "if they have none."))
  var scalars: XcodeImportOptions.Scalars = .optional

  @Flag(
    help: ArgumentHelp(
      "Confirm the obvious losses of all steps, because Core Data has discarded this data already.",
      discussion:
        "Otherwise each loss is a question in the mapping file of its step. 'cdgen diff --accept' confirms the losses of "
        + "one step."
    ))
  var acceptLosses = false

  func run() throws {
    try reportingFailures {
      let files: [XcodeMappingFile]
      let bundle: XcodeBundle
      do {
        bundle = try XcodeBundle(contentsOf: self.bundle)
        files = try mappings.map(XcodeMappingFile.files(under:)) ?? []
      } catch let error as XcodeBundleError {
        throw Failure(error.path, error.message)
      }
      let importer = XcodeImporter(
        bundle, order: try orderText(), orderPath: order ?? "", mappings: files,
        options: XcodeImportOptions(scalars: scalars, confirmsLosses: acceptLosses))
      let result = importer.run(id: UUID())
      ModelFolder.report(result.diagnostics)
      guard let model = result.model else { throw ExitCode.failure }
      let output = ModelFolder.trimmed(self.output)
      let folder = output.hasSuffix(".cdmodel") ? output : FileSystem.join(output, result.folderName)
      try FileSystem.makeFolder(FileSystem.folder(of: folder))
      try FileSystem.makeNewFolder(folder) {
        for (name, text) in result.files.sorted(by: { $0.key < $1.key }) {
          try OutputFile(path: FileSystem.join(folder, name), contents: text).create()
        }
      }
      let count = model.versions.count
      try Console.write(
        line: "\(folder): \(count) version\(count == 1 ? "" : "s"); next run: "
          + "cdgen check \(SuggestedCommand.word(folder))")
    }
  }

  private func orderText() throws -> String? {
    guard let order else { return nil }
    guard let text = try OutputFile(path: order, contents: "").currentContents() else {
      throw Failure(order, "there is no such file")
    }
    guard !text.unicodeScalars.contains(where: { $0 == "\u{0}" || $0 == "\u{FFFD}" }) else {
      throw Failure(order, "this is not a text; an order names the versions, a line each, the oldest first")
    }
    return text
  }
}

extension XcodeImportOptions.Scalars: ExpressibleByArgument {}
