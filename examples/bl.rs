use cudalink::link::builtin::*;
fn main(){
 let a:Vec<String>=std::env::args().collect();
 let (out,target,args)=(&a[1],&a[2],&a[3]);
 let data:Vec<Vec<u8>>=a[4..].iter().map(|f|std::fs::read(f).unwrap()).collect();
 let ins:Vec<Input>=a[4..].iter().zip(&data).map(|(n,d)|Input{name:n,cubin:d}).collect();
 let id=Identity{tool:"nvlink",version:"Cuda compilation tools, release 13.5, V13.5.37",build:"Build cuda_13.5.r13.5/compiler.39125733_0",command:args,like_nvlink:true};
 match link(&ins,target.parse().unwrap(),id){Ok(b)=>std::fs::write(out,b).unwrap(),Err(e)=>{println!("ERR {e}");std::process::exit(1)}}
}
